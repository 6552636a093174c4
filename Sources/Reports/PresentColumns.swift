import BaseTypes
import OperatorLogging

/// A subject that is present or was at the last known time, with the functions that format its cells.
struct PresentRow {
    let presence: PresentReport.Presence
    let words: PresentWriter

    /// The columns of `visits --now`.
    static var columns: [ReportColumn<PresentRow>] {
        [
            .init(
                .texts { $0.presence.identifiers }, json: "identifiers", csv: .init(4, "conditions"),
                cell: .init(title: "Name", table: 4, page: 1, width: 28) { $0.words.label($0.presence) }),
            .init(.beacon { $0.presence.beacon }, json: "beacon", csv: .init(5)),
            .init(.text { $0.presence.name }, json: "name", csv: .init(2, "name")),
            .init(.text { $0.presence.group }, json: "group", csv: .init(3, "group")),
            .init(
                .date { $0.presence.since }, json: "since", csv: .init(8, "since", offset: 14),
                cell: .init(title: "Since", table: 2, page: 2, width: 19) { row in
                    row.presence.since.map { row.words.moment($0) }
                }),
            .init(
                .date { $0.presence.lastSighting }, json: "lastHeard", csv: .init(9, "last_heard", offset: 15),
                cell: .init(title: "Last sighting", table: 3, page: 3, width: 19) { row in
                    row.presence.lastSighting.map { row.words.moment($0) }
                }),
            .init(.seconds { $0.presence.exitTimeout.map { $0.nanoseconds / 1000 } }, json: "exitTimeout"),
            .init(.flag { $0.presence.notKnownSince == nil }, csv: .init(10, "here")),
            .init(
                .date { $0.presence.notKnownSince }, json: "notKnownSince",
                csv: .init(11, "not_known_since", offset: 16),
                cell: .init(title: "State", table: 6, page: 5) { $0.words.state($0.presence) }),
            .init(
                .texts { $0.presence.gateways }, json: "gateways", csv: .init(12, "gateway"),
                cell: .init(
                    title: "Gateway", table: 5, page: 4, width: 12,
                    text: { $0.presence.gateways.joined(separator: "+") },
                    html: { PlainText.html($0.presence.gateways.joined(separator: ", ")) })),
            .init(
                .integer { $0.presence.sequence }, json: "sequence", csv: .init(13, "sequence"),
                cell: .init(title: "Line", table: 1, page: 6, width: 6, isNumber: true) {
                    $0.presence.sequence.map { "\($0)" }
                }),
            .init(
                .text { $0.presence.beacon == nil ? "condition" : "beacon" }, json: "scope", csv: .init(1, "scope")),
        ]
    }
}
