import BeaconMonitoring
import BluetoothLE
import GatewayConfiguration

/// The beacon conditions of a configuration, found by hash: which of them match a beacon.
///
/// It does not check whether a beacon is strong enough for a condition (`enter_rssi`), because a monitor decides that
/// over time.
struct ScanConditions: Sendable {
    private var indices: [BeaconMonitor.BeaconIdentityCondition: [Int]] = [:]
    private var identifiers: [String] = []

    /// Creates a value without conditions, so that no beacon matches one.
    init() {}

    /// Collects the beacon conditions of all monitors of a configuration.
    init(_ configuration: Configuration) {
        for condition in configuration.monitors.flatMap(\.conditions) {
            guard case .beacon(let identity) = condition.condition else { continue }
            indices[identity, default: []].append(identifiers.count)
            identifiers.append(condition.identifier.text)
        }
    }

    /// Returns the identifiers of the conditions that would match a beacon if the bytes of its UUID were reversed. The
    /// beacon must match no condition as it is.
    func reversed(_ beacon: BeaconIdentity) -> [String] {
        matching(BeaconIdentity(uuid: beacon.uuid.byteReversed, major: beacon.major, minor: beacon.minor))
    }

    /// Returns the identifiers of the conditions that match `beacon`, in the order of the configuration.
    func matching(_ beacon: BeaconIdentity) -> [String] {
        guard !indices.isEmpty else { return [] }
        return beacon.matchingConditions.flatMap { indices[$0] ?? [] }.sorted()
            .map { identifiers[$0] }
    }
}
