import BaseTypes
import BeaconMonitoring
import BluetoothLE

/// A sighting as a scanner would report it: a badge at a distance of one meter, received by hci0.
func sighting(_ minor: UInt16, by adapter: AdapterID, at time: Instant, rssi: Int8 = -59) -> Sighting {
    Sighting(
        time: time, adapter: adapter, beacon: BeaconIdentity(uuid: staff, major: 1, minor: minor), measuredPower: -59,
        rssi: RSSI(dBm: rssi))
}

/// The UUID of the staff's badges.
let staff = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)

/// Engine settings with the name of a location source, which a monitor of circles needs (rule G3).
var locating: EngineSettings {
    var settings = EngineSettings()
    settings.locationSource = "example"
    return settings
}
