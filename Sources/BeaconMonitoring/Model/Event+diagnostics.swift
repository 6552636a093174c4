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
