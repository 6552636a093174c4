public import BluetoothLE

// Many reports at once: nearly all of them are refreshes that change nothing else, and those take a short way.
extension MonitorEngine {
    /// What was heard, one after another: the same as ``advance(to:into:)``, ``heard(_:at:into:)`` and ``sighted(_:into:)``
    /// of each.
    ///
    /// - Parameters:
    ///   - batch: the reports, in the order of their times.
    ///   - ids: the adapters' IDs, at the places that the batch has; what one without is said to have heard only lets time go
    ///     on.
    ///   - actions: where what follows is added.
    public mutating func take(_ batch: borrowing FrameBatch, of ids: [AdapterID?], into actions: inout ActionBuffer) {
        let places = ids.map { $0?.index ?? 0 }
        let entries = batch.entries.span.extracting(first: batch.counts.entries)
        var index = 0
        while true {
            var run = Run(index: index, present: present)
            Self.refresh(
                &subjects, &adapters, by: entries, of: places.span, memo: memo, table: conditionTable, until: wake, &run
            )
            present = run.present
            index = run.index
            guard index < entries.count else { return }
            if run.isLeft != 0 {
                let last = Refresh(
                    entries[index].frame, by: AdapterID(index: Int(places[Int(entries[index].adapter)])), at: present)
                let clock = present - adapters[Int(last.adapter)].offset
                refreshLeft(
                    run.isLeft, at: run.place, by: last.sighting(uuid: entries[index].frame.uuid), clock, into: &actions
                )
            } else {
                take(entries[index], of: ids, into: &actions)
            }
            index += 1
        }
    }

    /// An entry by the long way.
    @inline(never)
    private mutating func take(
        _ entry: FrameBatch.Entry, of ids: [AdapterID?], into actions: inout ActionBuffer
    ) {
        if entry.kind.isFirst { enter(entry.time, into: &actions) }
        let place = Int(entry.adapter)
        guard place < ids.count, let adapter = ids[place] else { return }
        if entry.kind.isHeard { hear(adapter, into: &actions) }
        if entry.kind.isBeacon { sighted(entry.frame, by: adapter, into: &actions) }
    }

    /// How far the short way went.
    private struct Run {
        /// The first entry that it did not take, or not wholly.
        var index: Int
        /// The time of the entry before, or of that one where ``isLeft`` says that it was taken in part.
        var present: Int64
        /// The subjects of that entry that were left, and its place in the memo.
        var isLeft: UInt8 = 0
        var place = 0
    }

    /// Takes entries as long as nothing is due, their adapters listen and their beacons are remembered; ends at the first
    /// that is not so, and at the first that does more to a subject than to refresh it.
    ///
    /// A function of its parts that calls nothing, so that what it works with stays in registers.
    @inline(never)
    private static func refresh(
        _ subjects: inout ContiguousArray<Subject>, _ adapters: inout [AdapterState],
        by entries: Span<FrameBatch.Entry>, of places: Span<UInt16>, memo: borrowing MatchMemo,
        table: borrowing IdentityTable, until wake: Int64, _ run: inout Run
    ) {
        var subjects = subjects.mutableSpan
        var adapters = adapters.mutableSpan
        let remembered = memo.entries.span
        var present = run.present
        var index = run.index
        while index < entries.count {
            let kind = unsafe entries[unchecked: index].kind
            if kind.isFirst {
                let time = unsafe entries[unchecked: index].nanoseconds
                if time < present || time >= wake { break }
                present = time
            }
            let source = Int(unsafe entries[unchecked: index].adapter)
            guard source < places.count else { break }
            let adapter = places[source]
            guard adapter > 0, adapters[Int(adapter)].isListening else { break }
            if kind.isHeard { adapters[Int(adapter)].lastReport = present }
            if kind.isBeacon {
                let frame = unsafe entries[unchecked: index].frame
                let place = memo.find(frame.uuid, frame.number, hash: table.hash(frame.uuid))
                if place < 0 { break }
                let last = Refresh(frame, by: AdapterID(index: Int(adapter)), at: present)
                let clock = present &- adapters[Int(adapter)].offset
                var isLeft: UInt8 = 0
                for number in 0..<Int(unsafe remembered[unchecked: place].count) {
                    let subject = Int(unsafe remembered[unchecked: place].subjects[unchecked: number])
                    if !subjects[subject].refreshAlone(by: last, frame.strength, adapter, clock) {
                        isLeft |= 1 << UInt8(truncatingIfNeeded: number)
                    }
                }
                if isLeft != 0 {
                    run.isLeft = isLeft
                    run.place = place
                    break
                }
            }
            index &+= 1
        }
        run.index = index
        run.present = present
    }
}
