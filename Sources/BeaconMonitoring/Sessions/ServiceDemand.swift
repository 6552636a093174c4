/// What a feature needs of the scanners.
///
/// Source: Apple, `CLServiceSession` and its authorization requirements. Bluetooth on Linux has no "when in use": what can
/// be asked for is how much of the air is listened to.
public struct ServiceDemand: Sendable, Hashable {
    /// How it is listened.
    public enum Scanning: Sendable, Hashable {
        /// A part of the time: battery, and air for others on the same adapter. A beacon may be missed for many of its
        /// intervals; an `exitTimeout` must bear that.
        case lowPower(DutyCycle)
        /// All of the time, without asking anybody anything: what monitoring and ranging need.
        case passive
        /// All of the time, and advertisers are asked for scan responses: names, and data that are only told there.
        case active

        /// The one that asks for more.
        public func joined(with other: Scanning) -> Scanning {
            switch (self, other) {
            case (.active, _), (_, .active): .active
            case (.passive, _), (_, .passive): .passive
            case (.lowPower(let one), .lowPower(let two)): .lowPower(one.joined(with: two))
            }
        }
    }

    /// Which adapters are listened with.
    public enum Adapters: Sendable, Hashable {
        /// Every adapter that the machine has.
        case all
        /// Those of these names, such as `hci0`, or addresses, such as `00:1A:7D:DA:71:13`.
        case only(Set<String>)

        /// Those of either.
        public func joined(with other: Adapters) -> Adapters {
            switch (self, other) {
            case (.only(let one), .only(let two)): .only(one.union(two))
            default: .all
            }
        }
    }

    /// How it is listened.
    public var scanning: Scanning
    /// Whether every report is wanted, with its own RSSI: full accuracy. Then it is listened all of the time, and reports
    /// that are thinned out are told (`accuracyLimited`).
    public var needsFullAccuracy: Bool
    /// The adapters that are listened with.
    public var adapters: Adapters

    /// What monitoring and ranging hold by themselves.
    public static let implicit = ServiceDemand()

    /// A demand; without arguments, the least: passive scanning by all adapters.
    public init(_ scanning: Scanning = .passive, needsFullAccuracy: Bool = false, adapters: Adapters = .all) {
        self.scanning = scanning
        self.needsFullAccuracy = needsFullAccuracy
        self.adapters = adapters
    }

    /// What serves both: of each part the more. In any order, and however often, the same comes of it.
    public func joined(with other: ServiceDemand) -> ServiceDemand {
        ServiceDemand(
            scanning.joined(with: other.scanning),
            needsFullAccuracy: needsFullAccuracy || other.needsFullAccuracy,
            adapters: adapters.joined(with: other.adapters))
    }

    /// How much of the time the scan is to listen.
    public var dutyCycle: DutyCycle {
        if case .lowPower(let cycle) = scanning, !needsFullAccuracy { cycle } else { .continuous }
    }

    /// Whether advertisers are to be asked for scan responses.
    public var isActive: Bool { scanning == .active }
}
