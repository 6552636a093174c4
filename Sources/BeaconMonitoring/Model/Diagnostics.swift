/// What may make an event less certain than it looks: flags, in the order in which a line lists them.
public struct Diagnostics: OptionSet, Sendable, Hashable {
    /// The flags' bits.
    public let rawValue: UInt32
    /// Makes a set of bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// D-Bus policy, polkit or the kernel refuses this user.
    public static let authorizationDenied = Diagnostics(rawValue: 1 << 0)
    /// Bluetooth is blocked for the machine.
    public static let authorizationDeniedGlobally = Diagnostics(rawValue: 1 << 1)
    /// Waiting for bluetoothd or for an adapter to power on.
    public static let authorizationRequestInProgress = Diagnostics(rawValue: 1 << 2)
    /// A hard switch blocks Bluetooth.
    public static let authorizationRestricted = Diagnostics(rawValue: 1 << 3)
    /// Explicit service sessions are demanded and none is held.
    public static let insufficientlyInUse = Diagnostics(rawValue: 1 << 4)
    /// Explicit service sessions are demanded.
    public static let serviceSessionRequired = Diagnostics(rawValue: 1 << 5)
    /// bluetoothd does not run, or no adapter is there.
    public static let serviceUnavailable = Diagnostics(rawValue: 1 << 6)
    /// An adapter that should listen does not (rules L1, L5).
    public static let scannerUnavailable = Diagnostics(rawValue: 1 << 7)
    /// Circles are monitored and the source gives no fix.
    public static let locationUnavailable = Diagnostics(rawValue: 1 << 8)
    /// Reports are thinned out, so RSSI and exits are coarser.
    public static let accuracyLimited = Diagnostics(rawValue: 1 << 9)
    /// More conditions than the limit (rule C4).
    public static let conditionLimitExceeded = Diagnostics(rawValue: 1 << 10)
    /// This gateway can't evaluate the condition (rule C5).
    public static let conditionUnsupported = Diagnostics(rawValue: 1 << 11)
    /// More beacons under conditions than are held (rule P2).
    public static let trackingLimitExceeded = Diagnostics(rawValue: 1 << 12)
    /// Records can't be kept (rule N5).
    public static let persistenceUnavailable = Diagnostics(rawValue: 1 << 13)
    /// The wall clock has not been set, so dates may be wrong.
    public static let clockUnsynchronized = Diagnostics(rawValue: 1 << 14)

    /// The flags' names, each at the place of its bit.
    public static let names = [
        "authorizationDenied", "authorizationDeniedGlobally", "authorizationRequestInProgress",
        "authorizationRestricted", "insufficientlyInUse", "serviceSessionRequired", "serviceUnavailable",
        "scannerUnavailable", "locationUnavailable", "accuracyLimited", "conditionLimitExceeded",
        "conditionUnsupported", "trackingLimitExceeded", "persistenceUnavailable", "clockUnsynchronized",
    ]

    /// The names of the flags that hold, in their order.
    package var listed: [String] {
        Self.names.indices.filter { rawValue & 1 << UInt32($0) != 0 }.map { Self.names[$0] }
    }
}

extension Diagnostics: Diagnosed {
    /// The flags themselves, so that each can be asked for by its name: `diagnostics.scannerUnavailable`.
    public var diagnostics: Diagnostics { self }
}

extension Diagnostics: CustomStringConvertible {
    /// The names of the flags that hold, in the order in which a line lists them: `[scannerUnavailable, accuracyLimited]`;
    /// `[]` where none does.
    public var description: String {
        var words = listed
        let unnamed = (rawValue >> UInt32(Self.names.count)) << UInt32(Self.names.count)
        if unnamed != 0 { words.append("0x\(String(unnamed, radix: 16))") }
        return "[\(words.joined(separator: ", "))]"
    }
}

/// Something that carries diagnostics: its flags by the names that Core Location has for them, where it has them.
public protocol Diagnosed {
    /// The flags that hold for it.
    var diagnostics: Diagnostics { get }
}

extension BeaconMonitor.Event: Diagnosed {}

extension Diagnosed {
    /// D-Bus policy, polkit or the kernel refuses this user.
    public var authorizationDenied: Bool { diagnostics.contains(.authorizationDenied) }
    /// Bluetooth is blocked for the machine.
    public var authorizationDeniedGlobally: Bool { diagnostics.contains(.authorizationDeniedGlobally) }
    /// Bluetooth is being waited for: bluetoothd, or an adapter to power on.
    public var authorizationRequestInProgress: Bool { diagnostics.contains(.authorizationRequestInProgress) }
    /// A hard switch blocks Bluetooth: nothing that this user does will help.
    public var authorizationRestricted: Bool { diagnostics.contains(.authorizationRestricted) }
    /// Explicit service sessions are demanded and none is held.
    public var insufficientlyInUse: Bool { diagnostics.contains(.insufficientlyInUse) }
    /// Explicit service sessions are demanded.
    public var serviceSessionRequired: Bool { diagnostics.contains(.serviceSessionRequired) }
    /// bluetoothd does not run, or no adapter is there.
    public var serviceUnavailable: Bool { diagnostics.contains(.serviceUnavailable) }
    /// An adapter that should listen does not (rules L1, L5).
    public var scannerUnavailable: Bool { diagnostics.contains(.scannerUnavailable) }
    /// Circles are monitored and the source gives no fix.
    public var locationUnavailable: Bool { diagnostics.contains(.locationUnavailable) }
    /// Reports are thinned out, so RSSI and exits are coarser.
    public var accuracyLimited: Bool { diagnostics.contains(.accuracyLimited) }
    /// There are more conditions than the limit (rule C4).
    public var conditionLimitExceeded: Bool { diagnostics.contains(.conditionLimitExceeded) }
    /// This gateway can't evaluate the condition (rule C5).
    public var conditionUnsupported: Bool { diagnostics.contains(.conditionUnsupported) }
    /// There are more beacons under conditions than are held (rule P2).
    public var trackingLimitExceeded: Bool { diagnostics.contains(.trackingLimitExceeded) }
    /// Records can't be kept (rule N5).
    public var persistenceUnavailable: Bool { diagnostics.contains(.persistenceUnavailable) }
    /// The wall clock has not been set, so dates may be wrong.
    public var clockUnsynchronized: Bool { diagnostics.contains(.clockUnsynchronized) }
}
