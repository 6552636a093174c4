import BaseTypes
import BluetoothLE

/// One of a gateway's adapters, between two cuts.
struct CutAdapter {
    let name: String
    fileprivate(set) var address: DeviceAddress?
    /// Whether the adapter scans, according to the input so far.
    private(set) var listens = false
    /// Whether the adapter was removed.
    private(set) var isGone = false
    /// Whether the adapter was removed and a batch has reported this. Then another adapter can use its index.
    fileprivate(set) var isFree = false
    /// Whether no more input of this adapter is accepted before the next cut.
    var isOverfull = false
    /// Whether the adapter scanned at the end of the previous batch.
    fileprivate(set) var listenedAtCut = false
    /// The time of the latest report.
    private(set) var lastReceived: Instant?
    // The time of the last change.
    private var lastChange: Instant?
    private(set) var reports: (first: Instant, last: Instant)?

    init(name: String, address: DeviceAddress?) {
        self.name = name
        self.address = address
    }

    /// Returns whether a change must be reported.
    func isChanged(by kind: Batch.Change.Kind) -> Bool {
        switch kind {
        // The site can consider the adapter `deaf`; this change shows that it is not (rule L5).
        case .started: true
        case .stopped: listens
        case .removed: !isGone
        }
    }

    /// Returns the time of an input: not before the last change.
    func admit(_ time: Instant) -> Instant { max(time, lastChange ?? time) }

    /// Records a report.
    mutating func noteReport(at time: Instant) {
        lastReceived = max(lastReceived ?? time, time)
        reports = (min(reports?.first ?? time, time), max(reports?.last ?? time, time))
    }

    /// Records a change.
    ///
    /// - Returns: its time, which is after all earlier reports.
    mutating func change(_ kind: Batch.Change.Kind, at time: Instant) -> Instant {
        var time = admit(time)
        if let lastReceived, lastReceived >= time { time = lastReceived + .microseconds(1) }
        lastChange = time
        isGone = kind == .removed
        isFree = false
        listens = kind == .started
        return time
    }

    /// Removes and returns the first and last report before a time.
    ///
    /// If there are later reports, the last one of all remains for the next batch. Then only the first of the earlier
    /// reports is needed, because the others are at most one batch after it.
    fileprivate mutating func takeReports(before end: Instant) -> (first: Instant, last: Instant)? {
        guard let taken = reports, taken.first < end else { return nil }
        reports = taken.last < end ? nil : (taken.last, taken.last)
        return (taken.first, taken.last < end ? taken.last : taken.first)
    }
}

/// All adapters of a gateway, by index.
struct CutAdapters {
    private(set) var all: [CutAdapter] = []

    /// Whether each adapter scanned at the end of the previous batch.
    var listening: [Bool] { all.map(\.listenedAtCut) }

    func isPlace(_ place: Int) -> Bool { all.indices.contains(place) }

    subscript(place: Int) -> CutAdapter {
        get { all[place] }
        set { all[place] = newValue }
    }

    /// Returns the index of the adapter with a name, and adds the adapter if it is new. Returns `nil` if the name is
    /// invalid or there are too many adapters.
    mutating func place(of name: String, _ address: DeviceAddress?) -> Int? {
        if let place = all.firstIndex(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
            // The address became known, or is not known any more. It is still the same adapter.
            all[place].address = address
            return place
        }
        guard Batch.Adapter.isName(name) else { return nil }
        let new = CutAdapter(name: name, address: address)
        if let place = all.firstIndex(where: \.isFree) {
            all[place] = new
            return place
        }
        guard all.count < BatchBounds.adaptersMax else { return nil }
        all.append(new)
        return all.count - 1
    }

    /// Removes and returns the reports of each adapter that are due.
    mutating func takeReports(before end: Instant) -> [(first: Instant, last: Instant)?] {
        all.indices.map { all[$0].takeReports(before: end) }
    }

    /// Records that a batch has reported these changes, and that input of the adapters in `later` remains for the next
    /// batch.
    mutating func apply(_ changes: [Batch.Change], later: Set<Int>) {
        for change in changes { all[change.adapter].listenedAtCut = change.kind == .started }
        for place in all.indices {
            all[place].isOverfull = false
            all[place].isFree = all[place].isGone && all[place].reports == nil && !later.contains(place)
        }
    }
}
