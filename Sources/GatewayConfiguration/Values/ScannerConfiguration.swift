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
        /// Advertisers are not asked for more.
        case passive
        /// Advertisers are asked for their scan responses.
        case active
        /// They are not, and it is listened a part of the time only.
        case lowPower = "low_power"
    }

    /// The way to the reports.
    public var backend: Backend = .auto
    /// The adapters by name, or by address as `00:1A:7D:DA:71:13`, each once; empty: all.
    public var adapters: [String] = []
    /// Whether advertisers are asked for scan responses.
    public var mode: Mode = .auto
    /// How much of the time it is listened, with ``Mode/lowPower``.
    public var dutyCycle = DutyCycle.low
    /// How long a report may lie in the kernel's buffer where nothing is due before, 10 ms … 1 s.
    public var latency = Duration.milliseconds(100)
    /// A beacon that is always there and proves that adapters hear (rule L5).
    public var canary: BeaconMonitor.BeaconIdentityCondition?

    /// The defaults.
    public init() {}

    /// What a gateway that is configured so needs of the scanners: the session that it holds asks for that.
    public var demand: ServiceDemand {
        let adapters: ServiceDemand.Adapters = adapters.isEmpty ? .all : .only(Set(adapters))
        return switch mode {
        case .auto, .passive: ServiceDemand(.passive, needsFullAccuracy: true, adapters: adapters)
        case .active: ServiceDemand(.active, needsFullAccuracy: true, adapters: adapters)
        case .lowPower: ServiceDemand(.lowPower(dutyCycle), adapters: adapters)
        }
    }
}

/// Where the gateway's own place comes from.
public enum LocationConfiguration: Sendable, Hashable {
    /// The gpsd at a host and port.
    case gpsd(host: String, port: UInt16)
    /// A GPX file.
    case gpx(GPXConfiguration)

    /// What lines call the source, as an adapter (rule G3).
    public var name: String {
        switch self {
        case .gpsd: "gpsd"
        case .gpx: "gpx"
        }
    }

    /// The metres that the source can tell apart: it enters no circle whose radius is smaller (rule G2).
    ///
    /// For receivers that give no estimate of their own gpsd computes HDOP times 19 m, and an HDOP below 1 is rare; a file
    /// without an hdop counts as good to 5 m.
    public var accuracy: Double {
        switch self {
        case .gpsd: 20
        case .gpx: 5
        }
    }
}

/// A GPX file that stands for the gateway's own place.
public struct GPXConfiguration: Sendable, Hashable {
    /// The absolute path of the track.
    public var file: String
    /// How many times as fast it is played, 0.01 … 1000.
    public var speed = 1.0
    /// Whether it begins again at its end.
    public var loops = false
    /// How fast a file without times is travelled, in metres a second, 0.01 … 1000.
    public var pace: Double?

    /// Makes one that is played once, as it was.
    public init(file: String) { self.file = file }
}
