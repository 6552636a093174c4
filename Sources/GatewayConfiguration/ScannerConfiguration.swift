public import BeaconMonitoring

/// How advertising reports are got hold of.
public struct ScannerConfiguration: Sendable, Hashable {
    /// The way to the kernel or bluetoothd.
    public enum Backend: String, Sendable, Hashable, CaseIterable {
        /// The best that this user may.
        case auto
        /// The kernel's management socket.
        case management
        /// bluetoothd, over D-Bus.
        case dbus
        /// The raw HCI channel.
        case hci
    }

    /// Whether advertisers are asked for scan responses.
    public enum Mode: String, Sendable, Hashable, CaseIterable {
        /// As the backend does best.
        case auto
        /// They are not.
        case passive
        /// They are.
        case active
    }

    /// The way to the reports.
    public var backend: Backend = .auto
    /// The adapters by name, each once; empty: all.
    public var adapters: [String] = []
    /// Whether advertisers are asked for scan responses.
    public var mode: Mode = .auto
    /// A beacon that is always there and proves that adapters hear (rule L5).
    public var canary: BeaconIdentityCondition?

    /// The defaults.
    public init() {}
}

/// Where the gateway's own place comes from.
public enum LocationConfiguration: Sendable, Hashable {
    /// The gpsd at a host and port.
    case gpsd(host: String, port: UInt16)
    /// A GPX file, an absolute path.
    case gpx(file: String)
}
