/// Flags with reasons why an event may be less reliable, in the order in which lines list them.
///
/// Source: the flags of Core Location's `CLMonitor.Event`, and further ones of this project.
public struct Diagnostics: OptionSet, Sendable, Hashable {
    /// The bits of the flags.
    public let rawValue: UInt32
    /// Creates a set of flags from bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// D-Bus policy, polkit or the kernel refuses this user.
    public static let authorizationDenied = Diagnostics(rawValue: 1 << 0)
    /// Bluetooth is blocked for the machine (rfkill, by software or by a switch).
    public static let authorizationDeniedGlobally = Diagnostics(rawValue: 1 << 1)
    /// The gateway waits for bluetoothd, or for an adapter to power on.
    public static let authorizationRequestInProgress = Diagnostics(rawValue: 1 << 2)
    /// A hardware switch blocks Bluetooth (rfkill); this user cannot change it.
    public static let authorizationRestricted = Diagnostics(rawValue: 1 << 3)
    /// Explicit service sessions are required and none is held.
    public static let insufficientlyInUse = Diagnostics(rawValue: 1 << 4)
    /// Explicit service sessions are required and none is held. Always set together with ``insufficientlyInUse``.
    public static let serviceSessionRequired = Diagnostics(rawValue: 1 << 5)
    /// bluetoothd does not run, or there is no adapter.
    public static let serviceUnavailable = Diagnostics(rawValue: 1 << 6)
    /// An adapter that should scan does not (rules L1, L5).
    public static let scannerUnavailable = Diagnostics(rawValue: 1 << 7)
    /// Circles are monitored and the location source has no fix.
    public static let locationUnavailable = Diagnostics(rawValue: 1 << 8)
    /// The number of reports is reduced (duplicate filter, duty cycle or old RSSI values), so RSSI values and exits are
    /// less accurate.
    public static let accuracyLimited = Diagnostics(rawValue: 1 << 9)
    /// The limit of conditions leaves no place for the condition (rule C4).
    public static let conditionLimitExceeded = Diagnostics(rawValue: 1 << 10)
    /// This gateway cannot evaluate the condition (rule C5).
    public static let conditionUnsupported = Diagnostics(rawValue: 1 << 11)
    /// Beacons under conditions exceed a limit: of tracked beacons (rules P2, P4) or of new beacons (rule P5).
    public static let trackingLimitExceeded = Diagnostics(rawValue: 1 << 12)
    /// Records cannot be stored (rule N5).
    public static let persistenceUnavailable = Diagnostics(rawValue: 1 << 13)
    /// The wall clock has not been synchronized, so dates may be wrong.
    public static let clockUnsynchronized = Diagnostics(rawValue: 1 << 14)

    /// The monitor needs ``BeaconMonitor/run()`` and does not run (``Diagnosed/monitorNotRunning``). Only a program sees
    /// this flag: no line, no store and no encoded value has it.
    ///
    ///     if let event, event.diagnostics.contains(.monitorNotRunning) { print("\(event.monitor) does not run") }
    public static let monitorNotRunning = Diagnostics(rawValue: 1 << 31)

    /// The names of the flags of lines, each at the position of its bit.
    public static let names = [
        "authorizationDenied", "authorizationDeniedGlobally", "authorizationRequestInProgress",
        "authorizationRestricted", "insufficientlyInUse", "serviceSessionRequired", "serviceUnavailable",
        "scannerUnavailable", "locationUnavailable", "accuracyLimited", "conditionLimitExceeded",
        "conditionUnsupported", "trackingLimitExceeded", "persistenceUnavailable", "clockUnsynchronized",
    ]

    /// The names of the flags in the set, in their order.
    package var listed: [String] {
        Self.names.indices.filter { rawValue & 1 << UInt32($0) != 0 }.map { Self.names[$0] }
    }
}

extension Diagnostics: Diagnosed {
    /// The set itself, so that each flag has a property: `diagnostics.scannerUnavailable`.
    public var diagnostics: Diagnostics { self }
}

extension Diagnostics: CustomStringConvertible {
    /// The names of the flags in the set, in the order of lines: `[scannerUnavailable, accuracyLimited]`; `[]` if it is
    /// empty.
    public var description: String {
        var words = listed
        if monitorNotRunning { words.append("monitorNotRunning") }
        let others = subtracting(.monitorNotRunning).rawValue
        let unnamed = (others >> UInt32(Self.names.count)) << UInt32(Self.names.count)
        if unnamed != 0 { words.append("0x\(String(unnamed, radix: 16))") }
        return "[\(words.joined(separator: ", "))]"
    }
}

/// A value with diagnostics. Its properties have the names of Core Location, if Core Location has the flag.
public protocol Diagnosed {
    /// The flags of the value.
    var diagnostics: Diagnostics { get }
}

extension BeaconMonitor.Event: Diagnosed {}

extension Diagnosed {
    /// D-Bus policy, polkit or the kernel refuses this user.
    public var authorizationDenied: Bool { diagnostics.contains(.authorizationDenied) }
    /// Bluetooth is blocked for the machine (rfkill, by software or by a switch).
    public var authorizationDeniedGlobally: Bool { diagnostics.contains(.authorizationDeniedGlobally) }
    /// The gateway waits for bluetoothd, or for an adapter to power on.
    public var authorizationRequestInProgress: Bool { diagnostics.contains(.authorizationRequestInProgress) }
    /// A hardware switch blocks Bluetooth (rfkill); this user cannot change it.
    public var authorizationRestricted: Bool { diagnostics.contains(.authorizationRestricted) }
    /// Explicit service sessions are required and none is held.
    public var insufficientlyInUse: Bool { diagnostics.contains(.insufficientlyInUse) }
    /// Explicit service sessions are required and none is held. Always set together with ``insufficientlyInUse``.
    public var serviceSessionRequired: Bool { diagnostics.contains(.serviceSessionRequired) }
    /// bluetoothd does not run, or there is no adapter.
    public var serviceUnavailable: Bool { diagnostics.contains(.serviceUnavailable) }
    /// An adapter that should scan does not (rules L1, L5).
    public var scannerUnavailable: Bool { diagnostics.contains(.scannerUnavailable) }
    /// Circles are monitored and the location source has no fix.
    public var locationUnavailable: Bool { diagnostics.contains(.locationUnavailable) }
    /// The number of reports is reduced (duplicate filter, duty cycle or old RSSI values), so RSSI values and exits are
    /// less accurate.
    public var accuracyLimited: Bool { diagnostics.contains(.accuracyLimited) }
    /// The limit of conditions leaves no place for the condition (rule C4).
    public var conditionLimitExceeded: Bool { diagnostics.contains(.conditionLimitExceeded) }
    /// This gateway cannot evaluate the condition (rule C5).
    public var conditionUnsupported: Bool { diagnostics.contains(.conditionUnsupported) }
    /// Beacons under conditions exceed a limit: of tracked beacons (rules P2, P4) or of new beacons (rule P5).
    public var trackingLimitExceeded: Bool { diagnostics.contains(.trackingLimitExceeded) }
    /// Records cannot be stored (rule N5).
    public var persistenceUnavailable: Bool { diagnostics.contains(.persistenceUnavailable) }
    /// The wall clock has not been synchronized, so dates may be wrong.
    public var clockUnsynchronized: Bool { diagnostics.contains(.clockUnsynchronized) }
    /// The monitor needs ``BeaconMonitor/run()`` and does not run, so its source does not scan, and exits wait for the
    /// next input.
    ///
    ///     if await monitor.record(for: "pier")?.lastEvent.monitorNotRunning == true { print("call run()") }
    public var monitorNotRunning: Bool { diagnostics.contains(.monitorNotRunning) }
}
