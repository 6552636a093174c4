/// One iBeacon and the values of its report that a monitor needs, in four words that fit in registers.
public struct BeaconFrame: Sendable {
    /// The first eight bytes of the UUID; the first byte is the most significant.
    public let high: UInt64
    /// The last eight bytes of the UUID.
    public let low: UInt64
    /// The address of the advertiser as a word, as packed by `DeviceAddress`.
    public let packedAddress: UInt64
    /// From the lowest bit: major (16 bits), minor (16), 16 zero bits, the RSSI byte of the report (8), measured power
    /// (8; 0x80 if it is unknown).
    public let packed: UInt64

    /// The UUID of the beacon.
    @inlinable public var uuid: ProximityUUID { ProximityUUID(high: high, low: low) }

    /// The RSSI byte of the report; 127 means "not available".
    @inlinable public var reportedRSSI: UInt8 { UInt8(truncatingIfNeeded: packed >> 48) }

    /// The decoded iBeacon frame.
    @inlinable public var beacon: IBeacon {
        IBeacon(
            identity: BeaconIdentity(
                uuid: uuid, major: UInt16(truncatingIfNeeded: packed), minor: UInt16(truncatingIfNeeded: packed >> 16)),
            measuredPower: Int8(truncatingIfNeeded: packed >> 56))
    }

    /// The signal strength in dBm; `nil` if the source does not know it.
    @inlinable public var rssi: RSSI? { RSSI(reported: reportedRSSI) }

    /// The address of the advertiser; `nil` if there is none.
    @inlinable public var address: DeviceAddress? { DeviceAddress(packed: packedAddress) }

    @inlinable @inline(__always) init(high: UInt64, low: UInt64, packedAddress: UInt64, packed: UInt64) {
        self.high = high
        self.low = low
        self.packedAddress = packedAddress
        self.packed = packed
    }

    /// Creates a frame from an iBeacon and the report that contained it.
    @inlinable public init(_ beacon: IBeacon, in report: AdvertisingReport) {
        high = beacon.identity.uuid.high
        low = beacon.identity.uuid.low
        packedAddress = report.packedAddress
        packed =
            UInt64(beacon.identity.major) | UInt64(beacon.identity.minor) << 16
            | UInt64(RSSI.byte(report.rssi)) << 48 | UInt64(IBeacon.byte(ofPower: beacon.measuredPower)) << 56
    }
}

/// Reads the iBeacons of one HCI event in order, without creating values for its reports.
///
/// A fast path for nearly all events: each report is whole and complete in itself. It stops at the first other report,
/// and the caller decodes the event again with ``ReportDecoder``. The results are the same if ``ReportDecoder/isIdle``
/// was true before; otherwise use only ``ReportDecoder``. Half of a gateway's CPU time is spent here.
public struct BeaconFrames {
    @usableFromInline var reports: AdvertisingReports
    /// The number of reports that have been read.
    public var reportCount = 0
    /// The number of those reports with an AD structure that ran past their end (rule B3).
    public var truncatedCount = 0
    // The offsets of the current report, of its next AD structure, and of the end of its data.
    @usableFromInline var start = 0
    @usableFromInline var structure = 0
    @usableFromInline var dataEnd = 0

    /// Creates a reader of `event`, an HCI event packet without its H4 byte.
    @inlinable @inline(__always)
    public init(event: Span<UInt8>) { reports = AdvertisingReports(event: event) }

    /// Whether the whole event has been read. If not, the next report needs ``ReportDecoder``.
    @inlinable public var isAtEnd: Bool { reports.isAtEnd }

    /// Returns the next iBeacon of `event`; `nil` at its end, or if a report is not whole or not complete in itself.
    @inlinable @inline(__always)
    public mutating func next(in event: Span<UInt8>) -> BeaconFrame? {
        let raw = unsafe event.bytes
        while true {
            while structure < dataEnd {
                let length = Int(unsafe raw.unsafeLoad(fromUncheckedByteOffset: structure, as: UInt8.self))
                let left = dataEnd &- structure &- 1
                if length == 0 { break }
                if length > left {
                    truncatedCount &+= 1
                    break
                }
                let type = structure &+ 1
                structure = type &+ length
                // Only a structure with room for the type and an iBeacon has 26 bytes after its length, so the loads
                // are safe.
                guard length > IBeacon.manufacturerDataLength else { continue }
                let head = unsafe UInt64(
                    bigEndian: raw.unsafeLoadUnaligned(fromUncheckedByteOffset: type, as: UInt64.self))
                guard head >> 24 == UInt64(ADStructure.manufacturerSpecificData) << 32 | UInt64(IBeacon.prefix) else {
                    continue
                }
                return unsafe frame(in: raw, at: type &+ 5)
            }
            guard let report = reports.nextWhole(in: event) else { return nil }
            reportCount &+= 1
            start = report.start
            structure = report.data
            dataEnd = report.end
        }
    }

    /// Returns the frame whose UUID is at `offset`. The caller must have checked that 21 bytes are there.
    @unsafe @inlinable @inline(__always)
    func frame(in raw: RawSpan, at offset: Int) -> BeaconFrame {
        let high = unsafe raw.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
        let low = unsafe raw.unsafeLoadUnaligned(fromUncheckedByteOffset: offset &+ 8, as: UInt64.self)
        let number = unsafe raw.unsafeLoadUnaligned(fromUncheckedByteOffset: offset &+ 16, as: UInt32.self)
        let power = unsafe raw.unsafeLoad(fromUncheckedByteOffset: offset &+ 20, as: UInt8.self)
        let extended = reports.extended
        let address = unsafe UInt64(
            littleEndian: raw.unsafeLoadUnaligned(fromUncheckedByteOffset: start &+ 2 &+ extended, as: UInt64.self))
        let addressType = unsafe raw.unsafeLoad(fromUncheckedByteOffset: start &+ 1 &+ extended, as: UInt8.self)
        let rssi = unsafe raw.unsafeLoad(
            fromUncheckedByteOffset: extended == 0 ? dataEnd : start &+ 13, as: UInt8.self)
        // Major and minor are big endian: the byte swap also exchanges the two numbers, which the return value undoes.
        let swapped = UInt32(bigEndian: number)
        return BeaconFrame(
            high: UInt64(bigEndian: high), low: UInt64(bigEndian: low),
            packedAddress: DeviceAddress.packed(address, addressType: addressType),
            packed: UInt64(swapped >> 16 | swapped << 16) | UInt64(rssi) << 48 | UInt64(power) << 56)
    }
}

extension AdvertisingReports {
    /// Skips the next report if it is whole and complete in itself. If it returns `nil`, use ``next(in:)``.
    @inlinable @inline(__always)
    mutating func nextWhole(in event: Span<UInt8>) -> (start: Int, data: Int, end: Int)? {
        guard remaining > 0 else { return nil }
        let start = offset
        let available = min(end, event.count) &- start
        let header = 9 &+ 15 &* extended
        let trailer = 1 &- extended
        guard available >= header &+ trailer else { return nil }
        let raw = unsafe event.bytes
        let length = Int(unsafe raw.unsafeLoad(fromUncheckedByteOffset: start &+ header &- 1, as: UInt8.self))
        guard available >= header &+ trailer &+ length else { return nil }
        // Of an extended report's Event_Type, only Data_Status (bits 5 and 6 of the first byte) decides; 0 means
        // complete. The second byte is reserved. A legacy report has no such bits.
        let eventType = unsafe raw.unsafeLoad(fromUncheckedByteOffset: start, as: UInt8.self)
        guard Int(eventType) & (0x60 &* extended) == 0 else { return nil }
        let data = start &+ header
        offset = data &+ length &+ trailer
        remaining &-= 1
        return (start, data, data &+ length)
    }
}
