/// Why a monitor refuses what it was asked for.
public enum MonitorError: Error, Hashable {
    /// The text can't be an identifier (rule C6), and why.
    case identifierInvalid(String, String)
    /// Another condition of this gateway's has the identifier (rule C6).
    case identifierTaken(String, monitor: String)
    /// Two of the conditions that are wanted have one identifier.
    case identifierRepeated(String)
    /// No condition has the identifier.
    case identifierUnknown(String)
    /// A monitor of that name exists (rule N1).
    case nameTaken(String)
    /// No monitor of that name exists.
    case nameUnknown(String)
    /// A circle's numbers are out of range.
    case circleInvalid(latitude: Double, longitude: Double, radius: Double)
    /// A place's numbers are out of range (rule G1).
    case coordinateInvalid(latitude: Double, longitude: Double)
    /// A horizontal accuracy that makes a fix none (rule G1): absent, negative or not finite.
    case accuracyInvalid(Double?)
    /// A setting is out of its bounds, or at odds with another (rules X1, C7): which, and what would be right.
    case settingInvalid(String, String)
    /// There are as many adapters as an engine takes.
    case adaptersTooMany(Int)
    /// A subscriber fell so many events behind that its stream ended (rule N2).
    case subscriberTooSlow(Int)
    /// The monitor has ended.
    case ended(String)
    /// What a monitor of that name left can't be had: why.
    case recordsUnavailable(String)
    /// The monitor's loop runs already.
    case running(String)
    /// What heard for the monitor has ended, and with it the monitor: why, for operators.
    case hearingEnded(String)
}

extension MonitorError: CustomStringConvertible {
    /// What, where and what to do.
    public var description: String {
        switch self {
        case .identifierInvalid(let text, let reason):
            "“\(text)” can't be an identifier: \(reason). Use 1 to 128 bytes without /, +, # and control characters."
        case .identifierTaken(let identifier, let monitor):
            "the identifier “\(identifier)” belongs to a condition of the monitor “\(monitor)”; choose another"
        case .identifierRepeated(let identifier):
            "two conditions have the identifier “\(identifier)”; identifiers must be unique"
        case .identifierUnknown(let identifier): "no condition has the identifier “\(identifier)”"
        case .nameTaken(let name):
            "a monitor named “\(name)” exists already; stop it first (await monitor.end()) or choose another name"
        case .nameUnknown(let name): "there is no monitor “\(name)”"
        case .circleInvalid(let latitude, let longitude, let radius):
            "a circle at \(latitude), \(longitude) of \(radius) m; expected −90…90, −180…180 and a radius above 0"
        case .coordinateInvalid(let latitude, let longitude):
            "a place at \(latitude), \(longitude); expected −90…90 and −180…180 degrees"
        case .accuracyInvalid(let accuracy):
            "a fix with \(accuracy.map { "an accuracy of \($0) m" } ?? "no accuracy"); expected 0 m or more"
        case .settingInvalid(let setting, let expected): "\(setting): \(expected)"
        case .adaptersTooMany(let most): "more than \(most) adapters; remove some from the configuration or the capture"
        case .subscriberTooSlow(let most):
            "the subscriber was \(most) events behind, so its subscription ended; subscribe again"
        case .ended(let name): "the monitor “\(name)” has ended"
        case .recordsUnavailable(let reason): reason
        case .running(let name): "the monitor “\(name)” runs already; await run() once"
        case .hearingEnded(let reason): "scanning has stopped: \(reason)"
        }
    }
}
