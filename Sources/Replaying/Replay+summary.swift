import BluetoothLE

extension Replay.Outcome {
    /// What was read and what came of it, in one short line for people: `412 records, 412 reports, 11 iBeacons: 3 events`.
    package var summary: String {
        var text = "\(statistics.records) records, \(statistics.reports) reports, \(statistics.sightings) iBeacons"
        let malformed = statistics.malformations.met.reduce(0) { $0 + $1.count }
        if malformed > 0 { text += ", \(malformed) malformed" }
        if let result { text += ": \(result)" }
        return text
    }

    private var result: String? {
        if statistics.events > 0 { return "\(statistics.events) events" }
        switch aim {
        // Who asked for sightings asked for no events, and got as many lines as there are iBeacons.
        case .sightings: return nil
        // A circle needs no beacon.
        case .places: return "no events"
        case .beacons: return statistics.sightings == 0 ? "nothing to monitor" : "no events"
        }
    }
}
