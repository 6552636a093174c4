import BaseTypes
import BluetoothLE

extension Batch {
    /// Parses a batch. Only the bytes that ``bytes`` writes are accepted, so each batch has exactly one encoding.
    ///
    /// Memory use is limited by the number of bytes, whatever they contain.
    ///
    /// - Throws: ``BatchFormatError``.
    package init(bytes: [UInt8]) throws(BatchFormatError) {
        let head = BatchFormat.magic.count
        guard bytes.count > head, bytes.starts(with: BatchFormat.magic) else { throw .notABatch }
        guard bytes[head] == BatchFormat.version else { throw .version(bytes[head]) }
        let end = bytes.count - BatchFormat.checkBytes
        guard end > head else { throw .damaged }
        var check = BatchReader(bytes, from: end, to: bytes.count)
        guard CRC32.of(bytes[..<end]) == (try check.fixed(UInt32.self, "the check")) else { throw .damaged }
        var reader = BatchReader(bytes, from: head + 1, to: end)
        let parts = try Parts(&reader)
        guard reader.left == 0 else { throw reader.invalid("\(reader.left) bytes follow the batch") }
        do throws(BatchError) {
            try self.init(
                site: parts.site, key: parts.key, span: parts.span, adapters: parts.adapters, changes: parts.changes,
                sightings: parts.sightings)
        } catch { throw .contradiction(error) }
    }
}

/// The parts of a batch. Each is valid by itself, but their consistency is not yet checked.
private struct Parts {
    let site: LogName
    let key: BatchKey
    let span: Batch.Span
    var adapters: [Batch.Adapter] = []
    var changes: [Batch.Change] = []
    var sightings: [Batch.Sighting] = []

    init(_ reader: inout BatchReader) throws(BatchFormatError) {
        let flags = try reader.byte("the flags")
        guard flags & ~BatchFormat.isStart == 0 else {
            throw reader.invalid("an unknown flag")
        }
        let boot = try reader.fixed(UInt128.self, "the boot")
        let sequence = try reader.fixed(UInt64.self, "the sequence")
        site = try reader.name("the site")
        key = BatchKey(gateway: try reader.name("the gateway"), boot: boot, sequence: sequence)
        let from = try reader.time("the start")
        let completeTo = try reader.time("the end", since: from)
        let cut = try reader.time("the cut", since: completeTo)
        let wall = try reader.time("the wall clock")
        span = try Self.valid { () throws(BatchError) in
            try Batch.Span(
                from: from, completeTo: completeTo, cut: cut, wall: wall, isStart: flags & BatchFormat.isStart != 0)
        }
        for _ in 0..<(try reader.byte("the number of adapters")) { adapters.append(try reader.adapter(since: from)) }
        let changeCount = try reader.count("changes", bytesMin: BatchFormat.changeBytesMin)
        changes.reserveCapacity(changeCount)
        for _ in 0..<changeCount { changes.append(try reader.change(since: changes.last?.time ?? from)) }
        var table = try ReadAdvertisers(&reader)
        let sightingCount = try reader.count("sightings", bytesMin: BatchFormat.sightingBytesMin)
        sightings.reserveCapacity(sightingCount)
        for _ in 0..<sightingCount {
            sightings.append(try reader.sighting(since: sightings.last?.time ?? from, &table))
        }
        guard table.areAllNamed else { throw reader.invalid("an advertiser without a sighting") }
    }

    static func valid<Value>(_ body: () throws(BatchError) -> Value) throws(BatchFormatError) -> Value {
        do throws(BatchError) { return try body() } catch { throw .contradiction(error) }
    }
}

/// The advertisers of a batch, and which of them have a sighting.
private struct ReadAdvertisers {
    private var advertisers: [Batch.Advertiser] = []
    private var areNamed: [Bool]
    private var namedCount = 0

    init(_ reader: inout BatchReader) throws(BatchFormatError) {
        let uuidCount = try reader.count("UUIDs", bytesMin: BatchFormat.uuidBytesMin)
        var uuids: [ProximityUUID] = []
        uuids.reserveCapacity(uuidCount)
        for _ in 0..<uuidCount {
            let uuid = ProximityUUID(
                high: try reader.fixed(UInt64.self, "a UUID").byteSwapped,
                low: try reader.fixed(UInt64.self, "a UUID").byteSwapped)
            if let last = uuids.last, uuid <= last { throw reader.invalid("the UUIDs are not sorted") }
            uuids.append(uuid)
        }
        let count = try reader.count("advertisers", bytesMin: BatchFormat.advertiserBytesMin)
        advertisers.reserveCapacity(count)
        // Advertisers are sorted, so their UUIDs must appear in order and without a gap.
        var next = 0
        for _ in 0..<count {
            let place = try reader.variable("a UUID's index")
            guard place < UInt64(uuids.count), Int(place) == next || Int(place) + 1 == next else {
                throw reader.invalid(
                    "a UUID's index is \(place); there are \(uuids.count), and \(next) were used before")
            }
            next = Int(place) + 1
            let advertiser = try reader.advertiser(uuids[Int(place)])
            if let last = advertisers.last, advertiser <= last {
                throw reader.invalid("the advertisers are not sorted")
            }
            advertisers.append(advertiser)
        }
        guard next == uuids.count else { throw reader.invalid("a UUID without an advertiser") }
        areNamed = Array(repeating: false, count: count)
    }

    /// Whether each advertiser has a sighting.
    var areAllNamed: Bool { namedCount == advertisers.count }

    mutating func advertiser(_ place: UInt64, _ reader: borrowing BatchReader) throws(BatchFormatError)
        -> Batch.Advertiser
    {
        guard place < UInt64(advertisers.count) else {
            throw reader.invalid("advertiser \(place) of \(advertisers.count)")
        }
        if !areNamed[Int(place)] {
            areNamed[Int(place)] = true
            namedCount += 1
        }
        return advertisers[Int(place)]
    }
}

extension BatchReader {
    fileprivate mutating func name(_ what: String) throws(BatchFormatError) -> LogName {
        let text = try short(what)
        do throws(SiteLogError) { return try LogName(text) } catch { throw invalid("\(what)'s name: \(error)") }
    }

    fileprivate mutating func adapter(since from: Instant) throws(BatchFormatError) -> Batch.Adapter {
        let flags = try byte("an adapter's flags")
        guard flags & ~(BatchFormat.isListening | BatchFormat.hasAddress | BatchFormat.hasReports) == 0 else {
            throw invalid("an unknown flag")
        }
        let name = try short("an adapter's name")
        var address: DeviceAddress?
        if flags & BatchFormat.hasAddress != 0 {
            let read = try self.address(try byte("an address"))
            guard read.value != 0 else { throw invalid("an adapter's address is zero") }
            address = read
        }
        var times: (first: Instant, last: Instant)?
        if flags & BatchFormat.hasReports != 0 {
            let first = try time("a report", since: from)
            times = (first, try time("a report", since: first))
        }
        return try Parts.valid { () throws(BatchError) in
            let reports = try times.map { pair throws(BatchError) in
                try Batch.Adapter.Reports(first: pair.first, last: pair.last)
            }
            return try Batch.Adapter(
                name: name, address: address, isListening: flags & BatchFormat.isListening != 0, reports: reports)
        }
    }

    fileprivate mutating func change(since last: Instant) throws(BatchFormatError) -> Batch.Change {
        let adapter = Int(try byte("a change's adapter"))
        let code = try byte("a change")
        let time = try time("a change", since: last)
        let kind: Batch.Change.Kind
        switch code & ~BatchFormat.hasReason {
        case BatchFormat.started: kind = .started
        case BatchFormat.removed: kind = .removed
        case BatchFormat.stopped:
            let ago = try variable("a stop")
            guard ago <= time.microseconds else { throw invalid("a stop is earlier than any time") }
            kind = .stopped(since: Instant(nanoseconds: Int64(time.microseconds - ago) * 1_000))
        default: throw invalid("unknown type of change: \(code)")
        }
        var reason: String?
        if code & BatchFormat.hasReason != 0 {
            reason = try text("a reason", count: try count("bytes of a reason", bytesMin: 1))
        }
        return try Parts.valid { () throws(BatchError) in
            try Batch.Change(kind, adapter: adapter, at: time, reason: reason)
        }
    }

    fileprivate mutating func advertiser(_ uuid: ProximityUUID) throws(BatchFormatError) -> Batch.Advertiser {
        let major = try fixed(UInt16.self, "a major")
        let minor = try fixed(UInt16.self, "a minor")
        let power = Int8(bitPattern: try byte("a measured power"))
        let kind = try byte("an address")
        return Batch.Advertiser(
            BeaconIdentity(uuid: uuid, major: major, minor: minor), measuredPower: power,
            address: kind == BatchFormat.noAddress ? nil : try address(kind))
    }

    fileprivate mutating func sighting(
        since last: Instant, _ table: inout ReadAdvertisers
    ) throws(BatchFormatError) -> Batch.Sighting {
        let advertiser = try table.advertiser(try variable("an advertiser"), self)
        let adapter = Int(try byte("a sighting's adapter"))
        let rssi = RSSI(reported: try byte("an RSSI"))
        return Batch.Sighting(at: try time("a sighting", since: last), adapter: adapter, advertiser, rssi: rssi)
    }
}
