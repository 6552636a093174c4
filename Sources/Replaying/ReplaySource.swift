import BaseTypes
import BeaconMonitoring
import BluetoothLE
import Captures
import CommandSupport

/// One capture of a replay: its reader and its present position.
struct ReplaySource: ~Copyable {
    private static let unreadMax = 16_384

    private var reader: CaptureReader
    private var decoder = ReportDecoder()
    private var batch = FrameBatch()
    private let prefix: String?
    private let adapter: String?
    /// The address, if ``adapter`` is an address.
    private let adapterAddress: UInt64?
    private let interval: Duration?
    /// Whether the records of each adapter are used, by its index in the reader's table; `nil` until its first record.
    private var counted: [Bool?] = []
    private var captureAdapters = CaptureAdapters()
    private var reorder: ReorderBuffer?
    /// The next record and its time. Its payload is in the window of the reader, or in ``heldBytes``.
    private var head: CaptureRecord?
    private(set) var headTime: Instant?
    private var heldBytes: [UInt8] = []
    private var records = 0
    /// The latest time of the records, in the order of the capture.
    private var latest = Instant.earliest
    /// The latest time of a record that ``reorder`` returned.
    private var latestHanded: Instant?
    private var statistics = ReplayStatistics()

    /// Opens a capture.
    ///
    /// - Throws: ``ExitFailure`` if the capture cannot be read.
    init(_ input: ReplayOptions.Input, options: ReplayOptions) throws(ExitFailure) {
        reader = try Self.open(input, options)
        prefix = input.name
        adapter = options.adapter
        adapterAddress = options.adapter.flatMap { DeviceAddress($0, kind: .public)?.value }
        interval = options.interval
        if let delay = options.reorder { reorder = ReorderBuffer(delay: delay) }
    }

    private static func open(
        _ input: ReplayOptions.Input, _ options: ReplayOptions
    ) throws(ExitFailure) -> CaptureReader {
        do {
            return try CaptureReader(
                input.capture,
                options: CaptureOptions(fields: options.fields, zone: options.zone, windowSize: options.windowSize))
        } catch {
            throw ExitFailure(error)
        }
    }

    /// Reads the first record.
    ///
    /// - Throws: ``ExitFailure`` if the capture cannot be read further, or if it has no times and they are needed.
    mutating func begin(_ options: ReplayOptions) throws(ExitFailure) {
        guard reader.hasTimes || options.interval != nil || options.writesSightings else {
            var refused = reader.damages.first.first.map { "\(reader.name): \($0)\n" } ?? ""
            for remark in reader.unreadKeyRemarks { refused += "warning: \(remark)\n" }
            throw ExitFailure(
                .dataInvalid,
                """
                \(refused)\(reader.name) has no times: its first valid record has none. So it gives sightings, but no events. Set the time between \
                records with --interval, for example --interval 100ms, or use --sightings.
                """)
        }
        try advance {}
    }

    var name: String { reader.name }
    var position: Int { reader.position }
    var size: Int? { reader.size }
    var damages: CaptureDamages { reader.damages }
    var localTimes: LocalTimes { reader.localTimes }
    var misplacedAdvertisement: CaptureDamage? { reader.misplacedAdvertisement }
    /// Sentences about how it was interpreted.
    var remarks: [String] { reader.remarks.map { "warning: \($0)" } }
    var hasEnded: Bool { head == nil }
    /// The adapters of all records that were read, if ``ReplayOptions/adapter`` is not one of them; `nil` otherwise.
    var otherAdapters: [String]? {
        guard adapter != nil, !counted.contains(true) else { return nil }
        let start = prefix.map { "\($0)/" } ?? ""
        let (names, addresses) = (reader.adapters, reader.adapterAddresses)
        return names.indices.map { index in
            // The text includes the addresses if the option is an address.
            let address = adapterAddress == nil || index >= addresses.count ? nil : addresses[index]
            return start + names[index] + (address.map { " (\($0))" } ?? "")
        }
    }

    /// The counters of this capture.
    var counts: ReplayStatistics {
        var counts = statistics
        counts.records = records
        counts.malformations = reader.malformations
        counts.malformations.add(decoder.malformations)
        counts.releasedEarly = reorder?.releasedEarly ?? 0
        return counts
    }

    /// Passes records to `handler`: those before `limit`, also those at `limit` if `isFirst`, and at most `most`.
    ///
    /// - Returns: the number of records.
    mutating func drive<Handler: ReplayHandler & ~Copyable>(
        _ handler: inout Handler, until limit: Instant?, isFirst: Bool, most: Int
    ) throws(ExitFailure) -> Int {
        if limit == nil, adapter == nil, reorder == nil { return try driveAlone(&handler, most: most) }
        var count = 0
        while count < most, let record = head {
            if let limit, let time = headTime, time > limit || (time == limit && !isFirst) { break }
            try hand(record, to: &handler)
            try advance(&handler)
            count += 1
        }
        return count
    }

    /// Does the same if all records are used and there is no other source to wait for. It does not look ahead at each
    /// record.
    private mutating func driveAlone<Handler: ReplayHandler & ~Copyable>(
        _ handler: inout Handler, most: Int
    ) throws(ExitFailure) -> Int {
        var count = 0
        while let record = head {
            try hand(record, to: &handler)
            count += 1
            while count < most, decoder.isIdle, handler.wantsBatches {
                let handed = try handBatch(to: &handler, most: most - count)
                guard handed > 0 else { break }
                count += handed
            }
            try advance(&handler)
            if count >= most { break }
        }
        return count
    }

    /// Reads the next record that is used, and makes it the head. Lines of earlier records are written before a wait
    /// for another program. The end of the capture is passed on.
    @inline(__always)
    private mutating func advance<Handler: ReplayHandler & ~Copyable>(
        _ handler: inout Handler
    ) throws(ExitFailure) {
        try advance { () throws(ExitFailure) in try handler.deliver(isUrgent: true) }
        if head == nil { try end(&handler) }
    }

    /// Reads the next record that is used, and makes it the head. `body` is called before a wait for another program.
    @inline(__always)
    private mutating func advance(beforeWaiting body: () throws(ExitFailure) -> Void) throws(ExitFailure) {
        if reorder != nil { return try advanceHeld(beforeWaiting: body) }
        while let record = try nextRecord(beforeWaiting: body) {
            guard isCounted(record) else { continue }
            head = record
            headTime = stamp(record)
            return
        }
        head = nil
        headTime = nil
    }

    @inline(__always)
    private mutating func nextRecord(
        beforeWaiting body: () throws(ExitFailure) -> Void
    ) throws(ExitFailure) -> CaptureRecord? {
        // Another call for each record costs more than the record. Hardly any record is longer than this.
        guard reader.isStream, reader.unread < Self.unreadMax else {
            do throws(CaptureError) { return try reader.next() } catch { throw ExitFailure(error) }
        }
        return try nextOfStream(beforeWaiting: body)
    }

    @inline(never)
    private mutating func nextOfStream(
        beforeWaiting body: () throws(ExitFailure) -> Void
    ) throws(ExitFailure) -> CaptureRecord? {
        var failure: ExitFailure?
        let record: CaptureRecord?
        do throws(CaptureError) {
            record = try reader.next {
                do throws(ExitFailure) { try body() } catch { failure = error }
                return failure == nil
            }
        } catch {
            throw ExitFailure(error)
        }
        if let failure { throw failure }
        return record
    }

    @inline(never)
    private mutating func advanceHeld(beforeWaiting body: () throws(ExitFailure) -> Void) throws(ExitFailure) {
        while true {
            if let held = reorder?.next(hasEnded: false) { return setHead(held) }
            guard let record = try nextRecord(beforeWaiting: body) else { break }
            guard isCounted(record) else { continue }
            guard let time = stamp(record) else {
                head = record
                headTime = nil
                heldBytes = Array(reader.window[record.payload])
                head?.payload = 0..<heldBytes.count
                return
            }
            reorder?.insert(record, at: time, payload: reader.window[record.payload])
        }
        guard let held = reorder?.next(hasEnded: true) else {
            head = nil
            headTime = nil
            return
        }
        setHead(held)
    }

    private mutating func setHead(_ held: ReorderBuffer.Held) {
        if let last = latestHanded, held.time < last {
            statistics.noteLate(by: last.nanoseconds - held.time.nanoseconds)
        } else {
            latestHanded = held.time
        }
        head = held.record
        headTime = held.time
        heldBytes = held.bytes
    }

    /// Returns whether the record is of the selected adapter, or no adapter is selected.
    @inline(__always)
    private mutating func isCounted(_ record: CaptureRecord) -> Bool {
        guard adapter != nil, let index = record.adapter else { return true }
        let isCounted = index < counted.count ? counted[index] ?? learn(index) : learn(index)
        if !isCounted, record.awaitsAddress || record.endsWait { pass(record, index) }
        return isCounted
    }

    /// Skips a record of an adapter that is not selected. Its index can get the selected address later, and then its
    /// mark counts.
    ///
    /// This is not possible if records are reordered, because this record is read long before the preceding ones are
    /// handed over.
    @inline(never)
    private mutating func pass(_ record: CaptureRecord, _ index: Int) {
        guard reorder == nil, index < reader.adapters.count else { return }
        if record.awaitsAddress {
            captureAdapters.postpone(record, of: reader.adapters[index])
        } else {
            _ = captureAdapters.takeMark(before: record, of: reader.adapters[index])
        }
    }

    @inline(never)
    private mutating func learn(_ index: Int) -> Bool {
        while counted.count <= index { counted.append(nil) }
        let address = index < reader.adapterAddresses.count ? reader.adapterAddresses[index] : nil
        let isCounted = adapterName(index) == adapter || address.map { $0.value == adapterAddress } ?? false
        counted[index] = isCounted
        return isCounted
    }

    /// Returns the name of an adapter in lines (rule L4).
    private func adapterName(_ index: Int) -> String {
        Self.lineName(index < reader.adapters.count ? reader.adapters[index] : "hci0", prefix)
    }

    private static func lineName(_ name: String, _ prefix: String?) -> String {
        prefix.map { "\($0)/\(name)" } ?? name
    }

    /// Counts a record and returns its time.
    @inline(__always)
    private mutating func stamp(_ record: CaptureRecord) -> Instant? {
        records &+= 1
        guard let time = record.time ?? interval.map({ .earliest + $0 * (records - 1) }) else { return nil }
        if time < latest {
            noteStep(time)
        } else {
            latest = time
        }
        return time
    }

    @inline(never)
    private mutating func noteStep(_ time: Instant) {
        let nanoseconds = latest.nanoseconds - time.nanoseconds
        statistics.noteStep(back: nanoseconds, file: reader.name, record: records)
        if reorder == nil { statistics.noteLate(by: nanoseconds) }
    }

    @inline(never)
    private mutating func hand<Handler: ReplayHandler & ~Copyable>(
        _ record: CaptureRecord, to handler: inout Handler
    ) throws(ExitFailure) {
        if let time = headTime { try handler.advance(to: time) }
        if captureAdapters.mustMeet(record), try !meet(record, &handler) {
            return try handler.deliver(isUrgent: false)
        }
        var record = record
        record.time = headTime
        if let mark = record.content.mark {
            if !mark.isListening { decoder.flush(adapter: record.adapter, to: &handler) }
            if let index = record.adapter, let time = headTime {
                handler.listening(mark.isListening, adapter: index, time: time, since: mark.since)
            }
        } else if reorder == nil {
            Self.decode(record, of: reader, with: &decoder, to: &handler)
        } else {
            Self.decode(record, of: heldBytes, with: &decoder, to: &handler)
        }
        try handler.deliver(isUrgent: false)
    }

    /// Passes on the records that can be handled as a batch.
    ///
    /// - Returns: the number of records.
    private mutating func handBatch<Handler: ReplayHandler & ~Copyable>(
        to handler: inout Handler, most: Int
    ) throws(ExitFailure) -> Int {
        let handed = reader.readEvents(into: &batch, most: most, known: captureAdapters.haveRecords, latest: &latest)
        guard handed > 0 else { return 0 }
        records &+= handed
        if batch.counts.structuresTruncated > 0 {
            decoder.count(.adStructureTruncated, by: batch.counts.structuresTruncated)
        }
        handler.received(batch)
        batch.removeAll()
        try handler.deliver(isUrgent: false)
        return handed
    }

    // These functions are static so that the decoder can change while the bytes are borrowed.
    @inline(__always)
    private static func decode<Handler: ReplayHandler & ~Copyable>(
        _ record: CaptureRecord, of reader: borrowing CaptureReader, with decoder: inout ReportDecoder,
        to handler: inout Handler
    ) {
        decoder.decode(record, in: reader.window.span, to: &handler)
    }

    private static func decode<Handler: ReplayHandler & ~Copyable>(
        _ record: CaptureRecord, of bytes: [UInt8], with decoder: inout ReportDecoder, to handler: inout Handler
    ) {
        decoder.decode(record, in: bytes.span, to: &handler)
    }

    /// Handles the adapter of a record. Returns whether it is known.
    @inline(never)
    private mutating func meet<Handler: ReplayHandler & ~Copyable>(
        _ record: CaptureRecord, _ handler: inout Handler
    ) throws(ExitFailure) -> Bool {
        let consequences = captureAdapters.meet(record, of: reader) { [prefix] _, name in
            handler.knowsAddresses(besides: Self.lineName(name, prefix))
        }
        guard let consequences else { return false }
        if let added = consequences.added {
            try handler.addAdapter(
                ReplayAdapter(
                    index: added.index, name: Self.lineName(added.name, prefix), address: added.address,
                    listens: added.listens), time: headTime)
        }
        if let mark = consequences.mark, let index = record.adapter, let time = headTime {
            handler.listening(mark.isListening, adapter: index, time: time, since: mark.since)
        }
        return true
    }

    /// Passes on incomplete advertisements, and reports the end of the capture.
    @inline(never)
    private mutating func end<Handler: ReplayHandler & ~Copyable>(_ handler: inout Handler) throws(ExitFailure) {
        decoder.flush(to: &handler)
        handler.end(at: latest)
        try handler.deliver(isUrgent: false)
    }
}
