/// The requirements of a feature for the scanners.
///
/// Source: Apple, `CLServiceSession` and its authorization requirements. Bluetooth on Linux has no "when in use", so a
/// session requests how much the adapters scan instead.
public struct ServiceDemand: Sendable, Hashable {
    /// The kinds of scanning.
    public enum Scanning: Sendable, Hashable {
        /// Scans a part of the time, which saves energy and leaves time for other uses of the adapter. A beacon can be
        /// missed for many of its advertising intervals, so `exitTimeout` must be long enough.
        case lowPower(DutyCycle)
        /// Scans all of the time without sending scan requests; monitoring and ranging need this.
        case passive
        /// Scans all of the time and requests scan responses, which can have names and further data.
        case active

        /// Returns the kind that requires more.
        public func joined(with other: Scanning) -> Scanning {
            switch (self, other) {
            case (.active, _), (_, .active): .active
            case (.passive, _), (_, .passive): .passive
            case (.lowPower(let one), .lowPower(let two)): .lowPower(one.joined(with: two))
            }
        }
    }

    /// The adapters that must scan.
    public enum Adapters: Sendable, Hashable {
        /// All adapters of the machine.
        case all
        /// The adapters with these names, such as `hci0`, or addresses, such as `00:1A:7D:DA:71:13`.
        case only(Set<String>)

        /// Returns the adapters of both.
        public func joined(with other: Adapters) -> Adapters {
            switch (self, other) {
            case (.only(let one), .only(let two)): .only(one.union(two))
            default: .all
            }
        }
    }

    /// The kind of scanning.
    public var scanning: Scanning
    /// Whether every report with its own RSSI is required: full accuracy. Then the adapters scan all of the time. If
    /// reports are left out, for example by the duplicate filter of a controller, `accuracyLimited` is reported.
    public var needsFullAccuracy: Bool
    /// The adapters that must scan.
    public var adapters: Adapters

    /// The demand of the sessions that monitoring and ranging hold themselves.
    public static let implicit = ServiceDemand()

    /// Creates a demand. By default, it is the least: passive scanning with all adapters.
    public init(_ scanning: Scanning = .passive, needsFullAccuracy: Bool = false, adapters: Adapters = .all) {
        self.scanning = scanning
        self.needsFullAccuracy = needsFullAccuracy
        self.adapters = adapters
    }

    /// Returns the demand that satisfies both. The order and the number of repetitions do not change the result.
    public func joined(with other: ServiceDemand) -> ServiceDemand {
        ServiceDemand(
            scanning.joined(with: other.scanning),
            needsFullAccuracy: needsFullAccuracy || other.needsFullAccuracy,
            adapters: adapters.joined(with: other.adapters))
    }

    /// The duty cycle that the demand requires.
    public var dutyCycle: DutyCycle {
        if case .lowPower(let cycle) = scanning, !needsFullAccuracy { cycle } else { .continuous }
    }

    /// Whether scan responses must be requested.
    public var isActive: Bool { scanning == .active }
}
