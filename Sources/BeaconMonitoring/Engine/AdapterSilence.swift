/// What follows from an adapter's not listening: the monitors' outage timeouts and forget_after, each of them once.
///
/// Times are nanoseconds on the timeline.
struct AdapterSilence: Sendable {
    /// When it stopped, for rules L2 and L3.
    private(set) var stoppedAt: Int64
    /// When it really stopped, for rule L3's forgetting: earlier than ``stoppedAt`` after a restart (rule N4).
    private(set) var silentSince: Int64
    /// How many of the monitors' outage timeouts have been handled since it stopped, the shortest first.
    private var outagesHandled = 0
    /// How many of the monitors' forget_after have been.
    private var forgettingsHandled = 0

    /// One that never listened counts from the start.
    init(start: Int64) {
        stoppedAt = start
        silentSince = start
    }

    /// Begins anew, as the adapter stopped.
    mutating func begin(since time: Int64) { self = AdapterSilence(start: time) }

    /// One that was over before a restart goes on: it counts as stopped now, and for forgetting when it really did.
    mutating func resume(at present: Int64, silentSince time: Int64) {
        stoppedAt = present
        silentSince = time
    }

    /// Begins anew for all together, as the last of the adapters stopped.
    mutating func beginAgain() {
        outagesHandled = 0
        forgettingsHandled = 0
    }

    /// Moves when all together stopped, as one more did.
    mutating func extend(to time: Int64) { stoppedAt = max(stoppedAt, time) }

    /// Whether it has lasted `timeout`.
    func hasLasted(_ timeout: Int64, at present: Int64) -> Bool { stoppedAt + timeout <= present }

    // MARK: Outages (rule L2)

    /// When the next of the outage timeouts is over.
    func nextOutage(of outages: [MonitorTable.Timeout]) -> Int64? {
        outagesHandled < outages.count ? stoppedAt + outages[outagesHandled].nanoseconds : nil
    }

    /// A monitor whose outage timeout is over and was not handled yet: it is now.
    mutating func handleOutage(of outages: [MonitorTable.Timeout], at present: Int64) -> MonitorIndex? {
        guard let time = nextOutage(of: outages), time <= present else { return nil }
        defer { outagesHandled += 1 }
        return outages[outagesHandled].monitor
    }

    // MARK: Forgetting (rule L3)

    /// When the next of the forget_after is over.
    func nextForgetting(of forgettings: [MonitorTable.Timeout]) -> Int64? {
        forgettingsHandled < forgettings.count ? silentSince + forgettings[forgettingsHandled].nanoseconds : nil
    }

    /// A monitor whose forget_after is over and was not handled yet: it is now.
    mutating func handleForgetting(of forgettings: [MonitorTable.Timeout], at present: Int64) -> MonitorIndex? {
        guard let time = nextForgetting(of: forgettings), time <= present else { return nil }
        defer { forgettingsHandled += 1 }
        return forgettings[forgettingsHandled].monitor
    }
}
