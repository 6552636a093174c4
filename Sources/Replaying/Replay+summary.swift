import BaseTypes
import BluetoothLE
import CommandSupport
import OperatorLogging

extension Replay.Outcome {
    /// A line for people with what was read and found: `412 records, 412 reports, 11 iBeacons: 3 events`.
    package var summary: String {
        var text =
            "\(PlainText.count(statistics.records, "record")), \(PlainText.count(statistics.reports, "report")), "
            + PlainText.count(statistics.sightings, "iBeacon")
        let malformed = statistics.malformations.met.reduce(0) { $0 + $1.count }
        if malformed > 0 { text += ", \(malformed) malformed" }
        if statistics.late > 0 { text += ", \(statistics.late) out of order by up to \(latestBy)" }
        if let result { text += ": \(result)" }
        return text
    }

    /// Messages about the captures that `--stats` has in numbers: times that go back and captures without iBeacons. If
    /// ``summary`` is written they are left out as far as it has them.
    package func warnings(withSummary: Bool) -> [String] {
        (withSummary ? [] : [clockWarning].compactMap { $0 }) + faulty
            + (withSummary && statistics.sightings == 0 ? [] : withoutBeacons)
    }

    private var clockWarning: String? {
        guard statistics.late > 0 else { return nil }
        let subject = PlainText.count(statistics.late, "record is", "records are")
        let effect = aim == .sightings ? "" : ", and handled at the time of that record (rule T2)"
        // Two hours of local time would be mixed.
        let advice =
            hasClockChange
            ? "" : "; if a file was merged out of order, use \(isReordered ? "a longer --reorder" : "--reorder")"
        return "warning: \(subject) dated earlier than a record before, by up to \(latestBy)\(effect)\(advice)"
    }

    /// Rounded up: a `--reorder` of it is enough.
    private var latestBy: String { Duration.nanoseconds(statistics.latestBy).inExactWordsRoundedUp }

    private var result: String? {
        if statistics.events > 0 { return PlainText.count(statistics.events, "event") }
        switch aim {
        // Who asked for sightings asked for no events, and got as many lines as there are iBeacons.
        case .sightings: return nil
        // A circle needs no beacon.
        case .places: return "no events"
        case .beacons: return statistics.sightings == 0 ? "nothing to monitor" : "no events"
        }
    }
}
