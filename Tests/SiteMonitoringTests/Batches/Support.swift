import BaseTypes
import BluetoothLE
import SiteMonitoring

/// Returns the time `seconds` after the start of the machine.
func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64((seconds * 1_000_000).rounded()) * 1_000) }

/// Returns one of the beacons of a deployment.
func advertiser(_ minor: UInt16, power: Int8 = -59, address: DeviceAddress? = nil) -> Batch.Advertiser {
    Batch.Advertiser(
        BeaconIdentity(
            uuid: ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E), major: 1, minor: minor),
        measuredPower: power, address: address)
}

/// Returns the first batch of a gateway, for a period in nanoseconds.
func makeBatch(
    from: Int64, to: Int64, adapters: [Batch.Adapter], changes: [Batch.Change] = [],
    sightings: [Batch.Sighting]
) throws -> Batch {
    let span = try Batch.Span(
        from: Instant(nanoseconds: from), completeTo: Instant(nanoseconds: to), cut: Instant(nanoseconds: to),
        wall: Instant(nanoseconds: 1_795_000_000_000_000_000), isStart: true)
    return try Batch(
        site: LogName("campus"), key: BatchKey(gateway: LogName("lobby"), boot: 0xB007, sequence: 1), span: span,
        adapters: adapters, changes: changes, sightings: sightings)
}
