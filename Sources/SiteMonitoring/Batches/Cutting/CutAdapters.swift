import BaseTypes
import BluetoothLE

/// One of a gateway's adapters, between two cuts.
struct CutAdapter {
    let name: String
    fileprivate(set) var address: DeviceAddress?
    /// Whether it listens, as far as was told.
    private(set) var listens = false
    /// Whether it was taken out.
    private(set) var isGone = false
    /// It was taken out, and that was told: its place may go to another.
    fileprivate(set) var isFree = false
    /// Nothing more of it is taken before the next cut.
    var isOverfull = false
    /// Whether it listened at the last cut.
    fileprivate(set) var listenedAtCut = false
    /// The latest that was heard of it.
    private(set) var lastHeard: Instant?
    // When it changed last.
    private var lastChange: Instant?
    private(set) var reports: (first: Instant, last: Instant)?

    init(name: String, address: DeviceAddress?) {
        self.name = name
        self.address = address
    }

    /// Whether a change says something that is new.
    func isChanged(by kind: Batch.Change.Kind) -> Bool {
        switch kind {
        // A site may have taken it for deaf, and takes this for a sign that it is not (rule L5).
        case .started: true
        case .stopped: listens
        case .removed: !isGone
        }
    }

    /// The time that something heard has: not before what changed last.
    func admit(_ time: Instant) -> Instant { max(time, lastChange ?? time) }

    /// Notes that a report came.
    mutating func hear(at time: Instant) {
        lastHeard = max(lastHeard ?? time, time)
        reports = (min(reports?.first ?? time, time), max(reports?.last ?? time, time))
    }

    /// Notes a change, and gives it a time behind all that was heard before it.
    mutating func change(_ kind: Batch.Change.Kind, at time: Instant) -> Instant {
        var time = admit(time)
        if let lastHeard, lastHeard >= time { time = lastHeard + .microseconds(1) }
        lastChange = time
        isGone = kind == .removed
        isFree = false
        listens = kind == .started
        return time
    }

    /// The reports before a moment, which are told now. Where some are later, the last of all is of the next batch, and of
    /// the others it is enough to know the first: they are no more apart than a batch is long.
    fileprivate mutating func takeReports(before end: Instant) -> (first: Instant, last: Instant)? {
        guard let taken = reports, taken.first < end else { return nil }
        reports = taken.last < end ? nil : (taken.last, taken.last)
        return (taken.first, taken.last < end ? taken.last : taken.first)
    }
}

/// All adapters of a gateway, each at a place.
struct CutAdapters {
    private(set) var all: [CutAdapter] = []

    /// Who listened at the last cut.
    var listening: [Bool] { all.map(\.listenedAtCut) }

    func isPlace(_ place: Int) -> Bool { all.indices.contains(place) }

    subscript(place: Int) -> CutAdapter {
        get { all[place] }
        set { all[place] = newValue }
    }

    /// The place of one that goes by that name, made where there is none.
    mutating func place(of name: String, _ address: DeviceAddress?) -> Int? {
        if let place = all.firstIndex(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
            // Its address became known, or is none any more: what is said of it goes on.
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

    /// Takes the reports of each that are told now.
    mutating func takeReports(before end: Instant) -> [(first: Instant, last: Instant)?] {
        all.indices.map { all[$0].takeReports(before: end) }
    }

    /// Notes that these changes were told, and that of these adapters something is told later.
    mutating func apply(_ changes: [Batch.Change], later: Set<Int>) {
        for change in changes { all[change.adapter].listenedAtCut = change.kind == .started }
        for place in all.indices {
            all[place].isOverfull = false
            all[place].isFree = all[place].isGone && all[place].reports == nil && !later.contains(place)
        }
    }
}
