import BeaconMonitoring
import BluetoothLE
import GatewayConfiguration

/// The conditions on beacons of a configuration, found by hash: which of them a beacon matches.
///
/// Whether it is strong enough for them (`enter_rssi`) is not asked: that is the monitor's to say, over time.
struct ScanConditions: Sendable {
    private var indices: [BeaconMonitor.BeaconIdentityCondition: [Int]] = [:]
    private var identifiers: [String] = []

    /// No condition at all: no beacon matches one.
    init() {}

    /// The beacon conditions of all monitors of a configuration.
    init(_ configuration: Configuration) {
        for condition in configuration.monitors.flatMap(\.conditions) {
            guard case .beacon(let identity) = condition.condition else { continue }
            indices[identity, default: []].append(identifiers.count)
            identifiers.append(condition.identifier.text)
        }
    }

    /// The identifiers of those that a beacon, which matches none, would match if the bytes of its UUID were reversed.
    func reversed(_ beacon: BeaconIdentity) -> [String] {
        matching(BeaconIdentity(uuid: beacon.uuid.byteReversed, major: beacon.major, minor: beacon.minor))
    }

    /// The identifiers of those that `beacon` matches, in the order of the configuration.
    func matching(_ beacon: BeaconIdentity) -> [String] {
        guard !indices.isEmpty else { return [] }
        return beacon.matchingConditions.flatMap { indices[$0] ?? [] }.sorted()
            .map { identifiers[$0] }
    }
}
