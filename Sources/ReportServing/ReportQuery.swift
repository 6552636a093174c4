import BeaconMonitoring
import CommandSupport
import EventLog
import GatewayConfiguration
import OperatorLogging
import Reports

/// The parameters of the paths, and the check of a query before any file is read. Nothing in a query is ignored.
struct ReportQuery {
    /// The parameters of reports of visits, which other reports have too.
    static let visits = ["from", "to", "on", "condition", "beacon"]
    /// The parameters of reports of occupancy.
    static let occupancy = visits + ["every", "by"]
    /// The path before the number of a line.
    static let explanations = "/explain/"

    static let parameters: [String: [String]] = [
        "/": [], "/gateways": [], "/metrics": [], "/style.css": [], "/live.js": [], "/icon.svg": [], "/favicon.ico": [],
        "/visits": visits + ["limit", "after"], "/occupancy": occupancy, "/api/v1/present": [],
        "/api/v1/visits": visits + ["format", "limit", "after"], "/api/v1/occupancy": occupancy + ["format"],
        "/api/v1/explain": ["event"], "/api/v1/status": [], "/api/v1/gateways": [], "/api/v1/changes": [],
        "/api/v1/events": ["types", "lastEventID", "limit", "after"],
    ]
    // The fields of forms. A form sends a field without text as an empty value.
    private static let fields = occupancy
    // The maximum length of a value, in Unicode scalars. Names and dates are shorter.
    private static let valueMax = 1000

    /// The zone in which dates are read.
    let time: ZonedTime
    /// The named beacons, which can have groups.
    let directory: BeaconDirectory
    /// The present, for dates such as `today`.
    let now: WallDate

    /// Returns the names of the parameters of `path`; `nil` if the path does not exist.
    static func parameters(of path: String) -> [String]? {
        if let names = parameters[path] { return names }
        guard let number = Int(path.dropFirst(explanations.count)), number > 0, path == "\(explanations)\(number)"
        else { return nil }
        return []
    }

    /// Returns the remedy for an unknown parameter of `path`.
    static func hint(_ path: String) -> String {
        let names = parameters(of: path) ?? []
        guard let last = names.last else { return "\(path) has no parameters" }
        let others = names.dropLast().joined(separator: ", ")
        return others.isEmpty ? "the only parameter is \(last)" : "the parameters are \(others) and \(last)"
    }

    /// Checks a query.
    ///
    /// - Throws: ``HTTPProblem`` with status 404 if the path does not exist, and 400 with the first invalid parameter.
    func check(_ request: HTTPRequest) throws(HTTPProblem) {
        guard let names = Self.parameters(of: request.path) else {
            throw HTTPProblem(
                404, "unknown path \(Self.short(request.path))",
                hint: "pages start at /, and the API starts at /api/v1/present")
        }
        var values: [String: String] = [:]
        for member in request.query {
            guard names.contains(member.key) else {
                let error =
                    member.key.isEmpty
                    ? "a parameter has no name" : "\(Self.short(member.key)) is not a parameter of \(request.path)"
                throw HTTPProblem(400, error, hint: Self.hint(request.path))
            }
            guard values.updateValue(member.value, forKey: member.key) == nil else {
                throw HTTPProblem(400, "\(member.key) is given more than once", hint: "give it once")
            }
            let value = member.value.unicodeScalars
            guard value.count <= Self.valueMax, !value.contains(where: { $0.properties.generalCategory == .control })
            else {
                throw HTTPProblem(
                    400, "\(member.key) has a control character, or more than \(Self.valueMax) characters",
                    hint: "use a name or a date")
            }
            guard !member.value.isEmpty || !Self.fields.contains(member.key) else { continue }
            try check(member)
        }
        if values["limit"] != nil || values["after"] != nil {
            // Of the answers of the API, only JSON arrays have pages: CSV is always complete, and the stream has no
            // end.
            if values["format"] == "csv" {
                throw HTTPProblem(
                    400, "limit and after apply only to JSON", hint: "remove them: CSV is always complete")
            }
            if values["lastEventID"] != nil {
                throw HTTPProblem(
                    400, "limit and after apply to pages, and lastEventID applies to the stream",
                    hint: "use after=GATEWAY:NUMBER")
            }
        }
        try checkRange(values)
        if request.path == "/api/v1/explain", values["event"] == nil {
            throw HTTPProblem(
                400, "event is missing",
                hint: "use event=17 for line 17, or event=NAME for the last event of a condition or beacon")
        }
    }

    /// Checks a value by itself. `limit` and `after` are checked when they are used, with the limits there. Only the
    /// command knows whether the files have a condition, a beacon or an event.
    private func check(_ member: HTTPRequest.Member) throws(HTTPProblem) {
        let expected: String
        switch member.key {
        case "every":
            if let duration = try? Duration(setting: member.value), OccupancyOptions.lengths.contains(duration),
                duration.components.attoseconds == 0
            {
                return
            }
            expected = "expected whole seconds from 1m to 1d, such as 15m or 1h"
        case "by":
            let division = OccupancyOptions.Division(rawValue: member.value)
            if division == .group, directory.groups.isEmpty {
                throw HTTPProblem(
                    400, "by is group, but no beacon of the configuration has a group", hint: "give beacons a group")
            }
            if let division, division != .all { return }
            expected = "expected condition, group or gateway"
        case "format":
            if member.value == "csv" || member.value == "json" { return }
            expected = "expected csv or json"
        case "types":
            let types = LineParser.Kind.allCases.map { "\($0)" }
            let given = member.value.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
            if given.allSatisfy({ types.contains($0) }) { return }
            expected = "expected one or more of \(types.joined(separator: ",")), separated by commas"
        case "event":
            if !member.value.isEmpty { return }
            expected = "expected the number of a line, or a condition or beacon"
        default: return
        }
        throw Self.wrong(member.key, member.value, expected)
    }

    private func checkRange(_ values: [String: String]) throws(HTTPProblem) {
        func given(_ name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }
        do throws(GivenRange.Invalid) {
            _ = try GivenRange(from: given("from"), to: given("to"), on: given("on"), in: time, now: now)
        } catch {
            switch error {
            case .date(let name, let text, let reason): throw Self.wrong(name, text, "\(reason)")
            case .onNotPeriod(let text):
                throw Self.wrong("on", text, "expected a day or a week, such as 2026-11-21 or last-week")
            case .onWithOthers:
                throw HTTPProblem(400, "on is given together with from or to", hint: "use only on, or from and to")
            case .reversed(let from, let to):
                throw HTTPProblem(
                    400, "from is “\(from)”, which is not before to, “\(to)”", hint: "swap them, or use a later to")
            }
        }
    }

    /// Returns the problem of a parameter with an invalid value.
    static func wrong(_ name: String, _ value: String, _ expected: String) -> HTTPProblem {
        HTTPProblem(400, value.isEmpty ? "\(name) is empty" : "\(name) is “\(short(value))”", hint: expected)
    }

    /// Returns a text of the client in the form that errors have: its first 80 characters, with `_` instead of unsafe
    /// ones.
    static func short(_ text: String) -> String { PlainText.safe(String(text.prefix(80))) }
}
