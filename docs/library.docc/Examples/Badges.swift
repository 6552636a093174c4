import BaseTypes
import BeaconMonitoring
import BluetoothLE

/// What a scanner would hand over: a badge at one metre, heard by hci0.
func sighting(_ minor: UInt16, by adapter: AdapterID, at time: Instant, rssi: Int8 = -59) -> Sighting {
    Sighting(
        time: time, adapter: adapter, beacon: BeaconIdentity(uuid: staff, major: 1, minor: minor), measuredPower: -59,
        rssi: RSSI(dBm: rssi))
}

/// The UUID of the staff's badges.
let staff = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)

/// What a monitor of circles needs to be told: who says where it is (rule G3).
var locating: EngineSettings {
    var settings = EngineSettings()
    settings.locationSource = "example"
    return settings
}
