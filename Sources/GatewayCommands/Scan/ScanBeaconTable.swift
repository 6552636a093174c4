import BaseTypes
import BeaconMonitoring
import BluetoothLE
import GatewayConfiguration

/// The beacons in range: what `scan` shows.
///
/// A value, driven by reports and time; its bounds are ``HeardTable``'s.
struct BeaconTable: Sendable {
    /// A beacon at a moment.
    struct Row: Sendable, Hashable {
        let beacon: BeaconIdentity
        /// As its last frame says.
        let measuredPower: Int8
        /// The mean of the window's seconds in tenths of dBm; absent where none was told in them.
        let strength: Int?
        /// In metres.
        let distance: Double?
        let proximity: Proximity
        /// Reports a second, in tenths.
        let rate: Int
        /// Since the last report.
        let age: Duration
        /// All reports since it was listed.
        let reports: Int
        /// Of the last report.
        let address: DeviceAddress?
        let adapter: Int
        /// The identifiers of the conditions that it matches, in the order of the configuration.
        let conditions: [String]
        /// What the configuration calls the beacon; absent where it does not.
        var name: String?
    }

    private struct Details: Sendable {
        var measuredPower: Int8
        var packedAddress: UInt64
        var adapter: Int
        let conditions: [String]
    }

    private var table: HeardTable<BeaconIdentity, Details>
    private let ranging: RangingSettings
    private let conditions: ScanConditions
    private let uuids: Set<ProximityUUID>
    private let names: BeaconNames
    /// The conditions, and the UUIDs of interest, whose bytes are in reverse order.
    private(set) var reversed = ReversedUUIDs()

    /// - Parameters:
    ///   - conditions: what beacons are held against.
    ///   - uuids: the beacons that are of interest; empty: all.
    ///   - ranging: how distances are guessed.
    ///   - names: what beacons are called.
    init(
        conditions: ScanConditions = ScanConditions(), uuids: Set<ProximityUUID> = [],
        ranging: RangingSettings = RangingSettings(), names: BeaconNames = BeaconNames()
    ) {
        table = HeardTable(window: ranging.window)
        self.ranging = ranging
        self.conditions = conditions
        self.uuids = uuids
        self.names = names
    }

    /// How many beacons are listed.
    var count: Int { table.entries.count }
    /// Reports of beacons that found no place.
    var unlisted: Int { table.unlisted }

    /// An iBeacon of a report.
    mutating func heard(_ beacon: IBeacon, in report: AdvertisingReport, on adapter: Int, at time: Instant) {
        let identity = beacon.identity
        guard uuids.isEmpty || uuids.contains(identity.uuid) else {
            if uuids.contains(identity.uuid.byteReversed) {
                reversed.insert(ReversedUUID(identifier: nil, received: identity.uuid))
            }
            return
        }
        var isNew = false
        let index = table.heard(identity, report.rssi, at: time) {
            isNew = true
            return Details(
                measuredPower: beacon.measuredPower, packedAddress: report.packedAddress, adapter: adapter,
                conditions: conditions.matching(identity))
        }
        guard let index else { return }
        table[index].measuredPower = beacon.measuredPower
        table[index].packedAddress = report.packedAddress
        table[index].adapter = adapter
        guard isNew, table[index].conditions.isEmpty else { return }
        for identifier in conditions.reversed(identity) {
            reversed.insert(ReversedUUID(identifier: identifier, received: identity.uuid))
        }
    }

    /// The beacons in range, the nearest first.
    mutating func rows(at now: Instant) -> [Row] {
        table.forget(at: now)
        let order = table.ordered(at: now) { Int($0.details.measuredPower) * 10 - $1 }
        return order.map { index in
            let entry = table.entries[index]
            let reading = entry.meter.reading(of: ranging.window, at: now)
            let distance = reading.mean.flatMap {
                ranging.model.distance(measuredPower: entry.details.measuredPower, rssi: $0)
            }
            return Row(
                beacon: entry.key, measuredPower: entry.details.measuredPower, strength: reading.tenths,
                distance: distance,
                proximity: ranging.proximity(of: distance), rate: entry.meter.rate(at: now),
                age: max(now - entry.last, .zero), reports: entry.reports,
                address: DeviceAddress(packed: entry.details.packedAddress), adapter: entry.details.adapter,
                conditions: entry.details.conditions, name: names[entry.key]?.name)
        }
    }
}
