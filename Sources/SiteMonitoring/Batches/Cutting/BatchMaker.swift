import BaseTypes

/// The sorted input of a period. Adapters have the cutter's indexes.
struct BatchPiece {
    var from: Instant
    var completeTo: Instant
    /// Whether each adapter scanned at the start of the period.
    var listening: [Bool]
    /// The times of each adapter's first and last report.
    var reports: [(first: Instant, last: Instant)?]
    var changes: ArraySlice<Batch.Change>
    var sightings: ArraySlice<Batch.Sighting>

    /// The two halves of the piece, or `nil` if it cannot be divided.
    ///
    /// The first half is complete to the time at which the second starts, and both can contain data of that time.
    /// Reports of that time are in the first half. If the sightings are divided, the changes of that time are also in
    /// the first half, because changes precede sightings.
    var halves: (BatchPiece, BatchPiece)? {
        let moment: Instant
        var (first, second) = (self, self)
        if sightings.count > 1 {
            let middle = sightings.startIndex + sightings.count / 2
            moment = sightings[middle].time
            (first.sightings, second.sightings) = (sightings[..<middle], sightings[middle...])
            let end = changes.firstIndex { $0.time > moment } ?? changes.endIndex
            (first.changes, second.changes) = (changes[..<end], changes[end...])
        } else if changes.count > 1 {
            let middle = changes.startIndex + changes.count / 2
            moment = changes[middle].time
            (first.changes, second.changes) = (changes[..<middle], changes[middle...])
            let end = sightings.firstIndex { $0.time >= moment } ?? sightings.endIndex
            (first.sightings, second.sightings) = (sightings[..<end], sightings[end...])
        } else {
            return nil
        }
        first.completeTo = moment
        second.from = moment
        for change in first.changes { second.listening[change.adapter] = change.kind == .started }
        for (place, pair) in reports.enumerated() {
            guard let pair else { continue }
            first.reports[place] =
                pair.first <= moment ? (pair.first, pair.last <= moment ? pair.last : pair.first) : nil
            second.reports[place] = pair.last > moment ? (pair.first > moment ? pair.first : pair.last, pair.last) : nil
        }
        return (first, second)
    }
}

/// Makes the batches of a period: one, or several if one would be too large.
struct BatchMaker {
    let settings: BatchCutter.Settings
    let adapters: [CutAdapter]
    let cut: Instant
    let wall: Instant
    var isStart: Bool
    var nextSequence: UInt64
    /// The batches that were made.
    private(set) var made: [CutBatch] = []

    init(
        settings: BatchCutter.Settings, adapters: [CutAdapter], cut: Instant, wall: Instant, isStart: Bool,
        nextSequence: UInt64
    ) {
        self.settings = settings
        self.adapters = adapters
        self.cut = cut
        self.wall = wall
        self.isStart = isStart
        self.nextSequence = nextSequence
    }

    mutating func make(_ piece: BatchPiece) throws(BatchError) {
        let batch = try batch(of: piece)
        let bytes = batch.bytes
        // A piece that cannot be divided has at most one sighting, one change and 255 adapters. It is sent although it
        // is too large.
        if bytes.count > settings.bytesMax, let (first, second) = piece.halves {
            try make(first)
            return try make(second)
        }
        made.append(CutBatch(batch: batch, bytes: bytes))
        nextSequence += 1
        isStart = false
    }

    private func batch(of piece: BatchPiece) throws(BatchError) -> Batch {
        var isNamed = piece.listening
        for change in piece.changes { isNamed[change.adapter] = true }
        for sighting in piece.sightings { isNamed[sighting.adapter] = true }
        for (place, reports) in piece.reports.enumerated() where reports != nil { isNamed[place] = true }
        // The adapters' indexes in the batch.
        var places = Array(repeating: 0, count: adapters.count)
        var named: [Batch.Adapter] = []
        for place in adapters.indices where isNamed[place] {
            places[place] = named.count
            let reports = try piece.reports[place].map { pair throws(BatchError) in
                try Batch.Adapter.Reports(first: pair.first, last: pair.last)
            }
            named.append(
                try Batch.Adapter(
                    name: adapters[place].name, address: adapters[place].address,
                    isListening: piece.listening[place], reports: reports))
        }
        var changes: [Batch.Change] = []
        for change in piece.changes { changes.append(try change.moved(to: places[change.adapter])) }
        // The adapters keep their order, so the sightings also stay sorted.
        let sightings = piece.sightings.map {
            Batch.Sighting(at: $0.time, adapter: places[$0.adapter], $0.advertiser, rssi: $0.rssi)
        }
        let span = try Batch.Span(
            from: piece.from, completeTo: piece.completeTo, cut: cut, wall: wall, isStart: isStart)
        let key = BatchKey(gateway: settings.gateway, boot: settings.boot, sequence: nextSequence)
        return try Batch(
            site: settings.site, key: key, span: span, adapters: named, changes: changes, sightings: sightings)
    }
}

extension Batch.Change {
    /// Returns the same change for another adapter index.
    fileprivate func moved(to place: Int) throws(BatchError) -> Self {
        try Self(kind, adapter: place, at: time, reason: reason)
    }
}
