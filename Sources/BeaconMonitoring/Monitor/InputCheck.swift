import BaseTypes

/// Checks the inputs of a monitor: no time after its clock, and no adapter of another monitor.
struct InputCheck: Sendable {
    /// The number of the monitor to which the adapters must belong.
    let owner: UInt32
    /// The number of inputs with a time after the clock.
    private(set) var future = 0
    /// The number of inputs with an adapter of another monitor.
    private(set) var foreign = 0
    private var remarks: [MonitorRemark] = []
    // The last reading of the clock. An input that is not later needs no new reading.
    private var reading = Instant.earliest

    init(owner: UInt32) { self.owner = owner }

    /// Returns the time of an input, at most the current time of the clock.
    mutating func time(_ stamp: Instant, _ clock: any MonitorClock) -> Instant {
        guard stamp > reading else { return stamp }
        reading = clock.now
        guard stamp > reading else { return stamp }
        future &+= 1
        if Self.shouldReport(future) { remarks.append(.inputFromFuture(by: stamp - reading, count: future)) }
        return reading
    }

    /// Returns whether an adapter belongs to the monitor.
    mutating func isOwn(_ adapter: AdapterID) -> Bool {
        // 0 is the owner of decoded and stored IDs, which belong to no monitor.
        if adapter.owner == owner, adapter.index > 0 { return true }
        foreign &+= 1
        if Self.shouldReport(foreign) { remarks.append(.adapterForeign(count: foreign)) }
        return false
    }

    /// Returns the remarks since the last call.
    mutating func takeRemarks() -> [MonitorRemark] {
        guard !remarks.isEmpty else { return [] }
        defer { remarks = [] }
        return remarks
    }

    // Returns whether a problem is the first, tenth, hundredth …, to limit the number of remarks.
    private static func shouldReport(_ count: Int) -> Bool {
        var power = 1
        while power < count { power *= 10 }
        return power == count
    }
}
