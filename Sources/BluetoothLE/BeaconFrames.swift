/// One iBeacon of one report in four words: what a monitor needs of it, small enough to stay in registers.
public struct BeaconFrame: Sendable {
    /// The first eight octets of the UUID, the first the most significant.
    public let high: UInt64
    /// The last eight octets.
    public let low: UInt64
    /// The advertiser's address as a word (as `DeviceAddress` packs it).
    public let packedAddress: UInt64
    /// From the low end: major (16 bits), minor (16), 16 zeros, the report's RSSI octet (8), measured power (8).
    public let packed: UInt64

    /// Who advertises.
    @inlinable public var uuid: ProximityUUID { ProximityUUID(high: high, low: low) }

    /// The report's RSSI octet; 127 is "not available".
    @inlinable public var reportedRSSI: UInt8 { UInt8(truncatingIfNeeded: packed >> 48) }

    /// The frame itself.
    @inlinable public var beacon: IBeacon {
        IBeacon(
            identity: BeaconIdentity(
                uuid: uuid, major: UInt16(truncatingIfNeeded: packed), minor: UInt16(truncatingIfNeeded: packed >> 16)),
            measuredPower: Int8(truncatingIfNeeded: packed >> 56))
    }

    /// How strong it was, where the controller knew.
    @inlinable public var rssi: RSSI? { RSSI(reported: reportedRSSI) }

    /// The advertiser's address, where there is one.
    @inlinable public var address: DeviceAddress? { DeviceAddress(packed: packedAddress) }

    @inlinable @inline(__always) init(high: UInt64, low: UInt64, packedAddress: UInt64, packed: UInt64) {
        self.high = high
        self.low = low
        self.packedAddress = packedAddress
        self.packed = packed
    }

    /// An iBeacon and the report that it stood in.
    @inlinable public init(_ beacon: IBeacon, in report: AdvertisingReport) {
        high = beacon.identity.uuid.high
        low = beacon.identity.uuid.low
        packedAddress = report.packedAddress
        packed =
            UInt64(beacon.identity.major) | UInt64(beacon.identity.minor) << 16
            | UInt64(RSSI.octet(report.rssi)) << 48 | UInt64(UInt8(bitPattern: beacon.measuredPower)) << 56
    }
}

/// The iBeacons of one HCI event, in order, without a value for the reports around them.
///
/// A shortcut past ``AdvertisingReports`` and ``ADStructures`` for what nearly every event is: whole reports, each complete
/// in itself. Where a report is anything else, it stops, and `rest` goes on from there: half of a gateway's work is here,
/// and nothing but speed depends on it.
public struct BeaconFrames {
    @usableFromInline var reports: AdvertisingReports
    /// How many reports were stepped over or into.
    public var reportCount = 0
    /// How many of them had an AD structure that ran past their end (rule B3).
    public var truncatedCount = 0
    // Where the present report starts, its next AD structure, and where its data end.
    @usableFromInline var start = 0
    @usableFromInline var structure = 0
    @usableFromInline var dataEnd = 0

    /// The iBeacons of `event`, an HCI event packet without its H4 octet.
    @inlinable @inline(__always)
    public init(event: Span<UInt8>) { reports = AdvertisingReports(event: event) }

    /// Whether all of the event has been read; where not, the next report is one for the long way.
    @inlinable public var isAtEnd: Bool { reports.isAtEnd }

    /// The next iBeacon of `event`; `nil` at its end, and where a report is not whole, or not complete in itself.
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
                // The type and an iBeacon's data: only now do 26 octets stand behind the length.
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

    /// The frame whose UUID stands at `offset`: the caller has checked that 21 octets do.
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
        // Major and minor, each big endian: both turned round, and then in each other's place.
        let swapped = UInt32(bigEndian: number)
        return BeaconFrame(
            high: UInt64(bigEndian: high), low: UInt64(bigEndian: low),
            packedAddress: DeviceAddress.packed(address, addressType: addressType),
            packed: UInt64(swapped >> 16 | swapped << 16) | UInt64(rssi) << 48 | UInt64(power) << 56)
    }
}

extension AdvertisingReports {
    /// Steps over the next report where it is whole and complete in itself; `nil` leaves it to ``next(in:)``.
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
        // The second octet of an extended report's Event_Type is reserved but for what stands in the first: Data_Status,
        // bits 5 and 6; 0 is complete. A legacy report has no such bits.
        let eventType = unsafe raw.unsafeLoad(fromUncheckedByteOffset: start, as: UInt8.self)
        guard Int(eventType) & (0x60 &* extended) == 0 else { return nil }
        let data = start &+ header
        offset = data &+ length &+ trailer
        remaining &-= 1
        return (start, data, data &+ length)
    }
}
