import BaseTypes
import BeaconMonitoring
import CommandSupport
import GatewayConfiguration
import OperatorLogging

/// A visit with the facts that its columns need.
struct VisitsRow {
    let visit: VisitTracker.SubjectVisit
    let time: ZonedTime
    let directory: BeaconDirectory
    /// The start of the address of explanations, to which the number of the line is appended; `nil` means no links.
    let explanations: String?

    /// Returns the columns of `visits`. Tables only name the gateway if there are several.
    static func columns(isOneGateway: Bool) -> [ReportColumn<VisitsRow>] {
        [
            .init(.text { $0.visit.monitor }, json: "monitor", csv: .init(1, "monitor")),
            .init(.text { $0.visit.subject.identifier.text }, json: "identifier", csv: .init(2, "identifier")),
            .init(.beacon { $0.visit.subject.beacon }, json: "beacon", csv: .init(3)),
            .init(.text { $0.directory[$0.visit.subject.beacon]?.name }, json: "name", csv: .init(19, "name")),
            .init(.text { $0.directory[$0.visit.subject.beacon]?.group }, json: "group", csv: .init(20, "group")),
            .init(cell: .init(title: "Name", table: 5, page: 1, width: 28) { $0.directory.label($0.visit.subject) }),
            .init(
                .date { $0.visit.arrival }, json: "arrival", csv: .init(6, "arrival", offset: 22),
                cell: .init(title: "Arrival", table: 2, page: 2, width: 19) { $0.arrival }),
            .init(
                .date { $0.visit.departure }, json: "departure", csv: .init(7, "departure", offset: 23),
                cell: .init(
                    title: "Last sighting", table: 3, page: 3, width: 19, text: { $0.departure },
                    html: { $0.visit.end == .open ? $0.ending : $0.departure })),
            .init(.date { $0.visit.end == .open ? $0.visit.until : nil }, json: "until"),
            .init(
                .date { $0.visit.notKnownSince }, json: "notKnownSince",
                csv: .init(24, "not_known_since", offset: 25)),
            .init(
                .seconds { $0.visit.duration }, json: "duration", csv: .init(8, "duration"),
                cell: .init(title: "Duration", table: 4, width: 12, isNumber: true) { $0.duration }),
            .init(cell: .init(title: "Time", page: 4) { $0.duration }),
            // Hours are a decimal number, so that spreadsheets can add them. A ten-thousandth of an hour is a third of
            // a second.
            .init(.decimal(4) { $0.visit.duration.map { ($0 + 180_000) / 360_000 } }, csv: .init(21, "hours")),
            .init(
                .integer { $0.visit.sightings }, json: "sightings", csv: .init(9, "sightings"),
                cell: .init(title: "Sightings", table: 6, page: 5, width: 9, isNumber: true) {
                    $0.visit.sightings.map { "\($0)" }
                }),
            .init(
                .strength { $0.visit.strength }, json: "rssi", csv: .init(10),
                cell: .init(title: "RSSI", table: 7, page: 6, width: 6, isNumber: true) {
                    $0.visit.strength.map { ReportNumber.text($0) }
                }),
            .init(
                .text { $0.visit.end.word }, json: "end", csv: .init(13, "end"),
                cell: .init(title: "End", table: 9) { $0.ending }),
            .init(
                .text { $0.visit.subject.beacon == nil ? "condition" : "beacon" }, json: "scope",
                csv: .init(14, "scope")),
            .init(
                .texts { $0.visit.gateways }, json: "gateways", csv: .init(15, "gateway"),
                cell: .init(
                    title: "Gateway", table: isOneGateway ? nil : 8, page: 7, width: 12,
                    text: { $0.visit.gateways.joined(separator: "+") },
                    html: { PlainText.html($0.visit.gateways.joined(separator: ", ")) })),
            .init(
                .integer { $0.visit.sequence }, json: "sequence", csv: .init(16, "sequence"),
                cell: .init(
                    title: "Line", table: 1, page: 8, width: 6, isNumber: true,
                    text: { $0.visit.sequence.map { "\($0)" } },
                    html: { row in row.visit.sequence.map { row.link($0) } })),
            .init(.flag { $0.visit.beganBefore }, json: "beganBefore", csv: .init(17, "began_before")),
            .init(.flag { $0.visit.goesOn }, json: "goesOn", csv: .init(18, "goes_on")),
        ]
    }

    private var arrival: String? { visit.beganBefore ? "before range" : visit.arrival.map { time.text($0) } }

    private var departure: String? {
        if visit.goesOn { return "continues" }
        return visit.end == .open ? nil : visit.departure.map { time.text($0) }
    }

    private var duration: String? { visit.duration.map { Duration.microseconds($0).asClock } }

    /// The end of the visit. An open one is `present` if it is known to continue, else `present at 17:42:10, unknown
    /// since then`.
    private var ending: String {
        if visit.goesOn { return "continues" }
        guard visit.end == .open else { return visit.end.word }
        guard let date = visit.notKnownSince else { return "present" }
        return "present at \(time.text(date).dropFirst(11)), unknown since then"
    }

    private func link(_ number: Int) -> String {
        explanations.map { "<a href=\"\(PlainText.html($0))\(number)\">\(number)</a>" } ?? "\(number)"
    }
}
