import BaseTypes
import BluetoothLE

extension Batch {
    /// The encoded batch, format version 1 (docs/site-format.md). Each batch has exactly one encoding.
    package var bytes: [UInt8] {
        var bytes = BatchFormat.magic
        bytes.reserveCapacity(256 + sightings.count * 16)
        bytes.append(BatchFormat.version)
        bytes.append(span.isStart ? BatchFormat.isStart : 0)
        bytes.append(fixed: key.boot)
        bytes.append(fixed: key.sequence)
        bytes.append(short: site.description)
        bytes.append(short: key.gateway.description)
        bytes.append(fixed: span.from.microseconds)
        bytes.append(time: span.completeTo, since: span.from)
        bytes.append(time: span.cut, since: span.completeTo)
        bytes.append(fixed: span.wall.microseconds)
        bytes.append(UInt8(adapters.count))
        for adapter in adapters { bytes.append(adapter, since: span.from) }
        bytes.append(variable: UInt64(changes.count))
        var last = span.from
        for change in changes {
            bytes.append(change, since: last)
            last = change.time
        }
        let table = AdvertiserTable(sightings)
        bytes.append(table)
        bytes.append(variable: UInt64(sightings.count))
        last = span.from
        for sighting in sightings {
            bytes.append(sighting, since: last, table)
            last = sighting.time
        }
        bytes.append(fixed: CRC32.of(bytes))
        return bytes
    }
}

/// The advertisers of a batch, sorted, each once. Sightings refer to them by index.
struct AdvertiserTable {
    let uuids: [ProximityUUID]
    let advertisers: [Batch.Advertiser]
    private let places: [Batch.Advertiser: UInt64]

    init(_ sightings: [Batch.Sighting]) {
        var known: Set<Batch.Advertiser> = []
        for sighting in sightings { known.insert(sighting.advertiser) }
        advertisers = known.sorted()
        var uuids: [ProximityUUID] = []
        var places: [Batch.Advertiser: UInt64] = [:]
        places.reserveCapacity(advertisers.count)
        for (place, advertiser) in advertisers.enumerated() {
            if uuids.last != advertiser.beacon.uuid { uuids.append(advertiser.beacon.uuid) }
            places[advertiser] = UInt64(place)
        }
        self.uuids = uuids
        self.places = places
    }

    /// Returns the index of an advertiser, which must be in the table.
    func place(of advertiser: Batch.Advertiser) -> UInt64 { places[advertiser, default: 0] }
}

extension Instant {
    /// The time in whole microseconds.
    var microseconds: UInt64 { UInt64(max(nanoseconds, 0)) / 1_000 }
}

extension [UInt8] {
    /// Appends a number of fixed size, its lowest byte first.
    fileprivate mutating func append<Number: FixedWidthInteger>(fixed number: Number) {
        for shift in stride(from: 0, to: Number.bitWidth, by: 8) { append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    /// Appends a number in as few bytes as possible: seven bits in each, the lowest first. The top bit is set if
    /// another byte follows.
    fileprivate mutating func append(variable number: UInt64) {
        var rest = number
        while rest > 0x7F {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    fileprivate mutating func append(time: Instant, since earlier: Instant) {
        append(variable: time.microseconds - earlier.microseconds)
    }

    /// Appends the number of bytes of a text, at most 255, and the text.
    fileprivate mutating func append(short text: String) {
        append(UInt8(truncatingIfNeeded: text.utf8.count))
        append(contentsOf: text.utf8)
    }

    fileprivate mutating func append(address: DeviceAddress) {
        append(address.kind.rawValue)
        for shift in stride(from: 0, to: 48, by: 8) { append(UInt8(truncatingIfNeeded: address.value >> shift)) }
    }

    fileprivate mutating func append(_ adapter: Batch.Adapter, since from: Instant) {
        append(
            (adapter.isListening ? BatchFormat.isListening : 0)
                | (adapter.address == nil ? 0 : BatchFormat.hasAddress)
                | (adapter.reports == nil ? 0 : BatchFormat.hasReports))
        append(short: adapter.name)
        if let address = adapter.address { append(address: address) }
        if let reports = adapter.reports {
            append(time: reports.first, since: from)
            append(time: reports.last, since: reports.first)
        }
    }

    fileprivate mutating func append(_ change: Batch.Change, since last: Instant) {
        append(UInt8(truncatingIfNeeded: change.adapter))
        let reason = change.reason == nil ? 0 : BatchFormat.hasReason
        switch change.kind {
        case .started: append(BatchFormat.started | reason)
        case .stopped: append(BatchFormat.stopped | reason)
        case .removed: append(BatchFormat.removed | reason)
        }
        append(time: change.time, since: last)
        if case .stopped(let since) = change.kind { append(time: change.time, since: since) }
        if let reason = change.reason {
            append(variable: UInt64(reason.utf8.count))
            append(contentsOf: reason.utf8)
        }
    }

    fileprivate mutating func append(_ table: AdvertiserTable) {
        append(variable: UInt64(table.uuids.count))
        for uuid in table.uuids {
            // In the byte order of advertisements.
            append(fixed: uuid.high.byteSwapped)
            append(fixed: uuid.low.byteSwapped)
        }
        append(variable: UInt64(table.advertisers.count))
        var place = 0
        for advertiser in table.advertisers {
            if table.uuids[place] != advertiser.beacon.uuid { place += 1 }
            append(variable: UInt64(place))
            append(fixed: advertiser.beacon.major)
            append(fixed: advertiser.beacon.minor)
            append(UInt8(bitPattern: advertiser.measuredPower))
            if let address = advertiser.address { append(address: address) } else { append(BatchFormat.noAddress) }
        }
    }

    fileprivate mutating func append(_ sighting: Batch.Sighting, since last: Instant, _ table: AdvertiserTable) {
        append(variable: table.place(of: sighting.advertiser))
        append(UInt8(truncatingIfNeeded: sighting.adapter))
        append(RSSI.byte(sighting.rssi))
        append(time: sighting.time, since: last)
    }
}
