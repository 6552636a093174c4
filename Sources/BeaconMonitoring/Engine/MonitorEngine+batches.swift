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
    public mutating func heard(_ batch: borrowing FrameBatch, of ids: [AdapterID?], into actions: inout ActionBuffer) {
        let adapters = ids.map { $0.map { AdapterIndex($0) } ?? .together }
        let entries = batch.entries.span.extracting(first: batch.counts.entries)
        var index = 0
        while true {
            var run = Run(index: index, present: present)
            Self.refresh(
                &subjects, &self.adapters, by: entries, of: adapters.span, lookup: conditions.lookup,
                until: timeline.wake, &run)
            timeline.advance(to: run.present)
            index = run.index
            guard index < entries.count else { return }
            if run.isLeft != 0 {
                let frame = entries[index].frame
                let last = Refresh(frame, by: adapters[Int(entries[index].adapter)], at: present)
                refreshLeft(run.isLeft, at: run.place, by: last.sighting(uuid: frame.uuid), into: &actions)
            } else {
                heard(entries[index], by: adapters, into: &actions)
            }
            index += 1
        }
    }

    /// An entry by the long way.
    @inline(never)
    private mutating func heard(
        _ entry: FrameBatch.Entry, by adapters: [AdapterIndex], into actions: inout ActionBuffer
    ) {
        if entry.kind.isFirst { enter(entry.time, into: &actions) }
        let place = Int(entry.adapter)
        guard place < adapters.count, adapters[place] != .together else { return }
        if entry.kind.isHeard { hear(adapters[place], into: &actions) }
        if entry.kind.isBeacon { sighted(entry.frame, by: adapters[place].id, into: &actions) }
    }

    /// How far the short way went.
    private struct Run {
        /// The first entry that it did not handle, or not wholly.
        var index: Int
        /// The time of the entry before, or of that one where ``isLeft`` says that it was handled in part.
        var present: Int64
        /// The subjects of that entry that were left, and its place in the memo.
        var isLeft: UInt8 = 0
        var place = 0
    }

    /// Handles entries as long as nothing is due, their adapters listen and their beacons are remembered; ends at the first
    /// that is not so, and at the first that does more to a subject than to refresh it.
    ///
    /// A function of its parts that calls nothing, so that what it works with stays in registers.
    @inline(never)
    private static func refresh(
        _ subjects: inout SubjectTable, _ adapters: inout AdapterTable, by entries: Span<FrameBatch.Entry>,
        of indices: Span<AdapterIndex>, lookup: borrowing ConditionLookup, until wake: Int64, _ run: inout Run
    ) {
        let remembered = lookup.memo.entries.span
        subjects.withSubjects { subjects in
            adapters.withClocks { clocks in
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
                    guard source < indices.count else { break }
                    let adapter = indices[source]
                    guard adapter != .together, clocks[adapter.offset].isListening else { break }
                    // The place was looked at there.
                    if kind.isHeard { unsafe clocks[unchecked: adapter.offset].hear(at: present) }
                    if kind.isBeacon {
                        let frame = unsafe entries[unchecked: index].frame
                        let place = lookup.remembered(frame.uuid, frame.number, hash: lookup.hash(frame.uuid))
                        if place < 0 { break }
                        let last = Refresh(frame, by: adapter, at: present)
                        let clock = unsafe clocks[unchecked: adapter.offset].runningReading(at: present)
                        var isLeft: UInt8 = 0
                        for number in 0..<Int(unsafe remembered[unchecked: place].count) {
                            let subject = unsafe remembered[unchecked: place].subjects[unchecked: number]
                            if !subjects[subject.offset].refreshAlone(by: last, frame.strength, adapter, clock) {
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
    }
}
