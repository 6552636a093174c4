import BaseTypes
import BeaconMonitoring
import BluetoothLE
import GatewayConfiguration

/// The beacons in range, for `scan`.
///
/// It is a value that gets reports and times. Its bounds are those of ``ReceptionTable``.
struct BeaconTable: Sendable {
    /// The state of a beacon at one time.
    struct Row: Sendable, Hashable {
        let beacon: BeaconIdentity
        /// The measured power in its last frame, in dBm; `nil` if the frame does not have it.
        let measuredPower: Int8?
        /// The mean RSSI of the window in tenths of dBm; `nil` if no report in this time had one.
        let strength: Int?
        /// The estimated distance in metres; `nil` if it is not known.
        let distance: Double?
        let proximity: Proximity
        /// Reports per second, in tenths.
        let rate: Int
        /// The time since the last report.
        let age: Duration
        /// The number of reports since it was listed.
        let reports: Int
        /// The address in the last report.
        let address: DeviceAddress?
        let adapter: Int
        /// The identifiers of the conditions that match it, in the order of the configuration.
        let conditions: [String]
        /// The name in the configuration; `nil` if it has none.
        var name: String?
    }

    private struct Details: Sendable {
        var measuredPower: Int8?
        var packedAddress: UInt64
        var adapter: Int
        let conditions: [String]
    }

    private var table: ReceptionTable<BeaconIdentity, Details>
    private let ranging: RangingSettings
    private let conditions: ScanConditions
    private let uuids: Set<ProximityUUID>
    private let names: BeaconNames
    /// The conditions, and the UUIDs to list, whose bytes are in reverse order.
    private(set) var reversed = ReversedUUIDs()

    /// Creates an empty table.
    ///
    /// - Parameters:
    ///   - conditions: the conditions to compare beacons with.
    ///   - uuids: the UUIDs of the beacons to list; empty means all.
    ///   - ranging: the settings for the estimates of distances.
    ///   - names: the names of beacons.
    init(
        conditions: ScanConditions = ScanConditions(), uuids: Set<ProximityUUID> = [],
        ranging: RangingSettings = RangingSettings(), names: BeaconNames = BeaconNames()
    ) {
        table = ReceptionTable(window: ranging.window)
        self.ranging = ranging
        self.conditions = conditions
        self.uuids = uuids
        self.names = names
    }

    /// The number of listed beacons.
    var count: Int { table.entries.count }
    /// The number of reports of beacons that were not listed because there was no place.
    var unlisted: Int { table.unlisted }

    /// Handles an iBeacon of a report.
    mutating func received(_ beacon: IBeacon, in report: AdvertisingReport, on adapter: Int, at time: Instant) {
        let identity = beacon.identity
        guard uuids.isEmpty || uuids.contains(identity.uuid) else {
            if uuids.contains(identity.uuid.byteReversed) {
                reversed.insert(ReversedUUID(identifier: nil, received: identity.uuid))
            }
            return
        }
        var isNew = false
        let index = table.received(identity, report.rssi, at: time) {
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

    // In tenths of dB, more than any difference of measured power and RSSI.
    private static let unknownDistance = 10_000

    /// Returns the beacons in range, the nearest first. Those without measured power follow, the strongest first, then
    /// those without an RSSI.
    mutating func rows(at now: Instant) -> [Row] {
        table.forget(at: now)
        let order = table.ordered(at: now) { entry, strength in
            (entry.details.measuredPower.map { Int($0) * 10 } ?? Self.unknownDistance) - strength
        }
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
