import BaseTypes

/// One monitor: its name and the settings for its conditions.
struct MonitorState: Sendable {
    let name: Identifier
    /// In nanoseconds (rule L2).
    let outageTimeout: Int64
    /// In nanoseconds (rule L3).
    let forgetAfter: Int64
}

/// The monitors of a gateway in the order of adding, and their timeouts in the order of length.
struct MonitorTable: Sendable {
    /// The outage timeout or the forget_after of one monitor.
    struct Timeout: Sendable {
        let nanoseconds: Int64
        let monitor: MonitorIndex
    }

    private var monitors: [MonitorState] = []
    /// The outage timeouts, the shortest first.
    private(set) var outages: [Timeout] = []
    /// The forget_after times, the shortest first.
    private(set) var forgettings: [Timeout] = []

    subscript(index: MonitorIndex) -> MonitorState { monitors[index.offset] }

    var all: [MonitorState] { monitors }

    /// The longest forget_after. An adapter that has been silent this long is forgotten by every monitor.
    var longestForgetting: Int64? { forgettings.last?.nanoseconds }

    func index(named name: Identifier) -> MonitorIndex? {
        monitors.firstIndex { $0.name == name }.map { MonitorIndex($0) }
    }

    /// Adds a monitor.
    /// - Throws: ``MonitorError/nameTaken(_:)``, and ``MonitorError/settingInvalid(_:_:)`` if the settings are outside
    ///   the bounds of rule C7.
    @discardableResult
    mutating func add(
        _ name: Identifier, _ settings: MonitorSettings, deafAfter: Duration?
    ) throws(MonitorError) -> MonitorIndex {
        guard index(named: name) == nil else { throw .nameTaken(name.text) }
        for (setting, duration) in [("outage_timeout", settings.outageTimeout), ("forget_after", settings.forgetAfter)]
        where !SettingBounds.duration.contains(duration) {
            throw .settingInvalid("\(setting) is \(duration)", "expected 1ms…30d")
        }
        if let deafAfter, settings.outageTimeout <= deafAfter {
            throw .settingInvalid(
                "outage_timeout is \(settings.outageTimeout)", "expected above deaf_after, \(deafAfter)")
        }
        guard settings.forgetAfter > settings.outageTimeout else {
            throw .settingInvalid(
                "forget_after is \(settings.forgetAfter)", "expected above outage_timeout, \(settings.outageTimeout)")
        }
        let monitor = MonitorIndex(monitors.count)
        let state = MonitorState(
            name: name, outageTimeout: settings.outageTimeout.nanoseconds,
            forgetAfter: settings.forgetAfter.nanoseconds)
        monitors.append(state)
        Self.insert(Timeout(nanoseconds: state.outageTimeout, monitor: monitor), into: &outages)
        Self.insert(Timeout(nanoseconds: state.forgetAfter, monitor: monitor), into: &forgettings)
        return monitor
    }

    /// Inserts a timeout after those of the same length.
    private static func insert(_ timeout: Timeout, into list: inout [Timeout]) {
        list.insert(timeout, at: list.firstIndex { $0.nanoseconds > timeout.nanoseconds } ?? list.count)
    }
}
