import BeaconMonitoring
import BeaconScanning
import BluetoothLE
import CommandSupport

/// The lines of `scan --json`: `docs/scan.md` has the keys. Always the same, in the same order; what is absent is absent.
enum ScanJSON {
    /// A beacon's line.
    static func line(_ row: BeaconTable.Row, date: WallDate) -> String {
        var json = JSONWriter()
        json.write("time", date.lineText)
        json.write("uuid", row.beacon.uuid.description)
        json.write("major", Int(row.beacon.major))
        json.write("minor", Int(row.beacon.minor))
        if let strength = row.strength { json.write("rssi", millionths: Int64(strength) * 100_000) }
        json.write("measuredPower", Int(row.measuredPower))
        json.write("proximity", row.proximity.rawValue)
        if let distance = row.distance { json.write("distance", millionths: centimetres(distance) * 10_000) }
        json.write("rate", millionths: Int64(row.rate) * 100_000)
        json.write("age", millionths: milliseconds(row.age) * 1_000)
        json.write("reports", row.reports)
        write(row.address, to: &json)
        json.write("adapter", ScanSupervisor.Options.adapterName(of: row.adapter))
        json.write("conditions", row.conditions)
        return json.finish()
    }

    /// An advertiser's line.
    static func line(_ row: AdvertiserTable.Row, date: WallDate) -> String {
        var json = JSONWriter()
        json.write("time", date.lineText)
        write(row.address, to: &json)
        if let strength = row.strength { json.write("rssi", millionths: Int64(strength) * 100_000) }
        json.write("rate", millionths: Int64(row.rate) * 100_000)
        json.write("age", millionths: milliseconds(row.age) * 1_000)
        json.write("reports", row.reports)
        json.write("adapter", ScanSupervisor.Options.adapterName(of: row.adapter))
        json.write("connectable", row.isConnectable)
        if let company = row.company {
            json.write("company", Int(company))
            json.write("companyName", Companies.name(of: company))
        }
        json.write("name", row.name)
        if let beacon = row.beacon {
            json.write("uuid", beacon.uuid.description)
            json.write("major", Int(beacon.major))
            json.write("minor", Int(beacon.minor))
        }
        return json.finish()
    }

    private static func write(_ address: DeviceAddress?, to json: inout JSONWriter) {
        guard let address else { return }
        json.write("address", address.description)
        json.write("addressType", address.kind.word)
    }

    // What an octet of RSSI can't come to is cut: 10,000 km.
    private static func centimetres(_ metres: Double) -> Int64 { Int64((min(metres, 1e7) * 100).rounded()) }

    private static func milliseconds(_ duration: Duration) -> Int64 { duration.nanoseconds / 1_000_000 }
}
