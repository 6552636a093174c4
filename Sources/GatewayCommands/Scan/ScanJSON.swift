import AdapterScanning
import BaseTypes
import BeaconMonitoring
import BluetoothLE
import CommandSupport
import JSON

/// The lines of `scan --json`, whose keys `docs/scan.md` lists. The keys are always in the same order, and a key
/// without a value is left out.
enum ScanJSON {
    /// Returns the line of a beacon.
    static func line(_ row: BeaconTable.Row, date: WallDate) -> String {
        LineBuffer.lineForTerminals { json in
            json.write("time", date.lineText)
            json.write(row.beacon)
            if let strength = row.strength { json.write("rssi", millionths: Int64(strength) * 100_000) }
            if let power = row.measuredPower { json.write("measuredPower", power) }
            json.write("proximity", row.proximity.rawValue)
            if let distance = row.distance { json.write("distance", millionths: centimetres(distance) * 10_000) }
            json.write("rate", millionths: Int64(row.rate) * 100_000)
            json.write("age", millionths: milliseconds(row.age) * 1_000)
            json.write("reports", row.reports)
            write(row.address, to: &json)
            json.write("adapter", ScanSupervisor.Options.adapterName(of: row.adapter))
            json.write("conditions", row.conditions)
            json.write("name", row.name)
        }
    }

    /// Returns the line of an advertiser.
    static func line(_ row: AdvertiserTable.Row, date: WallDate) -> String {
        LineBuffer.lineForTerminals { json in
            json.write("time", date.lineText)
            write(row.address, to: &json)
            if let strength = row.strength { json.write("rssi", millionths: Int64(strength) * 100_000) }
            json.write("rate", millionths: Int64(row.rate) * 100_000)
            json.write("age", millionths: milliseconds(row.age) * 1_000)
            json.write("reports", row.reports)
            json.write("adapter", ScanSupervisor.Options.adapterName(of: row.adapter))
            json.write("connectable", row.isConnectable)
            if let company = row.company {
                json.write("company", company)
                json.write("companyName", Companies.name(of: company))
            }
            json.write("name", row.name)
            if let beacon = row.beacon { json.write(beacon) }
        }
    }

    private static func write(_ address: DeviceAddress?, to json: inout LineBuffer) {
        guard let address else { return }
        json.write("address", address)
        if let word = address.kind.word { json.write("addressType", word: word) }
    }

    // Distances are limited to 10,000 km. A longer one only results from a wrong measured power or an unusual model.
    private static func centimetres(_ metres: Double) -> Int64 { Int64((min(metres, 1e7) * 100).rounded()) }

    private static func milliseconds(_ duration: Duration) -> Int64 { duration.nanoseconds / 1_000_000 }
}
