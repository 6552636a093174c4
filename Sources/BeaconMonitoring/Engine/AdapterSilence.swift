/// The outage timeouts and forget_after times of all monitors while one adapter does not scan. Each is handled once.
///
/// Times are nanoseconds on the timeline.
struct AdapterSilence: Sendable {
    /// The time at which the adapter stopped, for rules L2 and L3.
    private(set) var stoppedAt: Int64
    /// The actual time at which it stopped, for forgetting in rule L3. It is earlier than ``stoppedAt`` after a restart
    /// (rule N4).
    private(set) var silentSince: Int64
    /// The number of outage timeouts that have been handled since the stop, the shortest first.
    private var outagesHandled = 0
    /// The number of forget_after times that have been handled.
    private var forgettingsHandled = 0

    /// Creates the silence of an adapter that has not scanned yet; it counts from the start.
    init(start: Int64) {
        stoppedAt = start
        silentSince = start
    }

    /// Starts again with a stop of the adapter.
    mutating func begin(since time: Int64) { self = AdapterSilence(start: time) }

    /// Continues a silence from before a restart: rule L2 counts from now, forgetting counts from the actual stop.
    mutating func resume(at present: Int64, silentSince time: Int64) {
        stoppedAt = present
        silentSince = time
    }

    /// Starts again for all adapters together, when the last adapter stops.
    mutating func beginAgain() {
        outagesHandled = 0
        forgettingsHandled = 0
    }

    /// Moves the stop of all adapters together to the latest stop of one adapter.
    mutating func extend(to time: Int64) { stoppedAt = max(stoppedAt, time) }

    /// Returns whether the silence has lasted `timeout`.
    func hasLasted(_ timeout: Int64, at present: Int64) -> Bool { stoppedAt + timeout <= present }

    // MARK: Outages (rule L2)

    /// Returns the end of the next outage timeout; `nil` if all have been handled.
    func nextOutage(of outages: [MonitorTable.Timeout]) -> Int64? {
        outagesHandled < outages.count ? stoppedAt + outages[outagesHandled].nanoseconds : nil
    }

    /// Returns a monitor whose outage timeout has ended, and marks it as handled; `nil` if there is none.
    mutating func handleOutage(of outages: [MonitorTable.Timeout], at present: Int64) -> MonitorIndex? {
        guard let time = nextOutage(of: outages), time <= present else { return nil }
        defer { outagesHandled += 1 }
        return outages[outagesHandled].monitor
    }

    // MARK: Forgetting (rule L3)

    /// Returns the end of the next forget_after; `nil` if all have been handled.
    func nextForgetting(of forgettings: [MonitorTable.Timeout]) -> Int64? {
        forgettingsHandled < forgettings.count ? silentSince + forgettings[forgettingsHandled].nanoseconds : nil
    }

    /// Returns a monitor whose forget_after has ended, and marks it as handled; `nil` if there is none.
    mutating func handleForgetting(of forgettings: [MonitorTable.Timeout], at present: Int64) -> MonitorIndex? {
        guard let time = nextForgetting(of: forgettings), time <= present else { return nil }
        defer { forgettingsHandled += 1 }
        return forgettings[forgettingsHandled].monitor
    }
}
