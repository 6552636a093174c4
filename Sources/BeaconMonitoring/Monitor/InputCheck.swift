import BaseTypes

/// Holds what is handed to a monitor against its clock and its own adapters: no input may stop time, and none is taken for
/// another adapter's.
struct InputCheck: Sendable {
    /// The number of the monitor that the adapters have to be of.
    let owner: UInt32
    /// Inputs that were stamped later than the clock showed.
    private(set) var future = 0
    /// Inputs that named an adapter of another monitor.
    private(set) var foreign = 0
    private var remarks: [MonitorRemark] = []
    // The clock's last reading: what is not later needs no other.
    private var reading = Instant.earliest

    init(owner: UInt32) { self.owner = owner }

    /// The time of an input: at most the clock's present.
    mutating func time(_ stamp: Instant, _ clock: any MonitorClock) -> Instant {
        guard stamp > reading else { return stamp }
        reading = clock.now
        guard stamp > reading else { return stamp }
        future &+= 1
        if Self.isTold(future) { remarks.append(.inputFromFuture(by: stamp - reading, count: future)) }
        return reading
    }

    /// Whether an adapter is the monitor's own.
    mutating func isOwn(_ adapter: AdapterID) -> Bool {
        // 0 is nobody: what was coded, or came from a store.
        if adapter.owner == owner, adapter.index > 0 { return true }
        foreign &+= 1
        if Self.isTold(foreign) { remarks.append(.adapterForeign(count: foreign)) }
        return false
    }

    /// What is to be said since the last call.
    mutating func takeRemarks() -> [MonitorRemark] {
        guard !remarks.isEmpty else { return [] }
        defer { remarks = [] }
        return remarks
    }

    // The first, the tenth, the hundredth …: whoever hands over much wrong is not told much.
    private static func isTold(_ count: Int) -> Bool {
        var power = 1
        while power < count { power *= 10 }
        return power == count
    }
}
