/// The errors of monitors and of the engine.
public enum MonitorError: Error, Hashable {
    /// The text is not a valid identifier (rule C6), with the reason.
    case identifierInvalid(String, String)
    /// Another condition of this gateway has the identifier (rule C6).
    case identifierTaken(String, monitor: String)
    /// Two of the given conditions have the same identifier.
    case identifierRepeated(String)
    /// No condition has the identifier.
    case identifierUnknown(String)
    /// A monitor with the name exists (rule N1).
    case nameTaken(String)
    /// No monitor has the name.
    case nameUnknown(String)
    /// The coordinates or the radius of a circle are out of range.
    case circleInvalid(latitude: Double, longitude: Double, radius: Double)
    /// The coordinates of a place are out of range (rule G1).
    case coordinateInvalid(latitude: Double, longitude: Double)
    /// The horizontal accuracy of a fix is `nil`, negative or not finite, so the fix is not usable (rule G1).
    case accuracyInvalid(Double?)
    /// A setting is out of bounds or conflicts with another (rules X1, C7): the setting, and the expected values.
    case settingInvalid(String, String)
    /// The maximum number of adapters is reached.
    case adaptersTooMany(Int)
    /// A subscriber had that many waiting events, so its stream ended (rule N2).
    case subscriberTooSlow(Int)
    /// The monitor has ended.
    case ended(String)
    /// The stored records of the monitor cannot be read, with the reason.
    case recordsUnavailable(String)
    /// ``BeaconMonitor/run()`` is already running.
    case running(String)
    /// The source of sightings ended with an error, and the monitor with it. The reason is for operators.
    case sourceFailed(String)
}

extension MonitorError: CustomStringConvertible {
    /// A text for operators: what failed, where, and what to do.
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
            """
            a monitor with the name “\(name)” has not ended; call `await end()` on it first, because a task can hold it \
            longer than your last reference, or choose another name
            """
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
        case .sourceFailed(let reason): "scanning has stopped: \(reason)"
        }
    }
}
