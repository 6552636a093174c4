public import BeaconMonitoring

/// The settings for scanning.
public struct ScannerConfiguration: Sendable, Hashable {
    /// The backend.
    public enum Backend: String, Sendable, Hashable, CaseIterable {
        /// The best backend that this user may use.
        case auto
        /// The kernel's management socket.
        case management
        /// bluetoothd, over D-Bus.
        case dbus
        /// The raw HCI channel.
        case hci
    }

    /// The kind of scanning.
    public enum Mode: String, Sendable, Hashable, CaseIterable {
        /// The best mode of the backend.
        case auto
        /// Passive scanning, without scan requests.
        case passive
        /// Active scanning, which requests scan responses.
        case active
        /// Passive scanning for a part of the time.
        case lowPower = "low_power"
    }

    /// The backend.
    public var backend: Backend = .auto
    /// The adapters by name, or by address such as `00:1A:7D:DA:71:13`, without duplicates; empty means all.
    public var adapters: [String] = []
    /// The kind of scanning.
    public var mode: Mode = .auto
    /// The part of the time in which the adapter scans, with ``Mode/lowPower``.
    public var dutyCycle = DutyCycle.low
    /// The longest time for which a report can stay in the kernel's buffer if nothing is due before, 10 ms … 1 s.
    public var latency = Duration.milliseconds(100)
    /// A beacon that is always in range and proves that adapters work (rule L5).
    public var canary: BeaconMonitor.BeaconIdentityCondition?

    /// Creates the default settings.
    public init() {}

    /// The demand of a gateway with these settings, for its service session.
    public var demand: ServiceDemand {
        let adapters: ServiceDemand.Adapters = adapters.isEmpty ? .all : .only(Set(adapters))
        return switch mode {
        case .auto, .passive: ServiceDemand(.passive, needsFullAccuracy: true, adapters: adapters)
        case .active: ServiceDemand(.active, needsFullAccuracy: true, adapters: adapters)
        case .lowPower: ServiceDemand(.lowPower(dutyCycle), adapters: adapters)
        }
    }
}

/// The source of the gateway's own position.
public enum LocationConfiguration: Sendable, Hashable {
    /// The gpsd at a host and port.
    case gpsd(host: String, port: UInt16)
    /// A GPX file.
    case gpx(GPXConfiguration)

    /// The name of the source in lines, as that of an adapter (rule G3).
    public var name: String {
        switch self {
        case .gpsd: "gpsd"
        case .gpx: "gpx"
        }
    }

    /// The best accuracy that is typical of the source, in metres. A circle with a smaller radius is rarely or never
    /// entered, because an entry needs a fix whose accuracy is at most the radius (rule G2).
    ///
    /// For receivers without an estimate of their own, gpsd computes HDOP times 19 m, and an HDOP below 1 is rare. A
    /// file without an hdop counts as accurate to 5 m.
    public var accuracy: Double {
        switch self {
        case .gpsd: 20
        case .gpx: 5
        }
    }
}

/// A GPX file that replaces the gateway's own position.
public struct GPXConfiguration: Sendable, Hashable {
    /// The absolute path of the track.
    public var file: String
    /// The playback speed as a factor: 2 is twice as fast, 0.01 … 1000.
    public var speed = 1.0
    /// Whether the file starts again after its end.
    public var loops = false
    /// The speed for a file without times in metres per second, 0.01 … 1000.
    public var pace: Double?

    /// Creates the settings for a file that is played once at its original speed.
    public init(file: String) { self.file = file }
}
