import BeaconMonitoring
import CommandSupport
import JSON
import OperatorLogging
import Reports

/// Chooses the command for a path and its query.
struct ReportOrders {
    // The number of days of a page without a range. Users look at recent days, and the files can contain years.
    private static let pageDays: Int64 = 7
    // The maximum number of rows. A page lists fewer than a program can request as JSON.
    private static let rowsMost = 2000
    private static let rowsUsual = 500

    /// The path of the configuration.
    let configuration: String
    /// The format and zone of dates.
    let time: ZonedTime

    /// Returns the request with dates as the client intended them: with `+` before an offset, and with `from` and `to`
    /// in place of `on` and of dates such as `today`, so that all pages of a report have the same range. Invalid dates
    /// are not changed.
    func meant(_ request: HTTPRequest, now: WallDate) -> HTTPRequest {
        var meant = request
        meant.query = request.query.map { HTTPRequest.Member(key: $0.key, value: Self.value($0)) }
        let names = ["from", "to", "on"]
        func given(_ name: String) -> String? { meant[name].flatMap { $0.isEmpty ? nil : $0 } }
        guard ReportQuery.parameters[request.path]?.contains("on") ?? false,
            let range = try? GivenRange(from: given("from"), to: given("to"), on: given("on"), in: time, now: now),
            range.fixed != (given("from"), given("to")),
            Set(meant.query.map(\.key)).count == meant.query.count
        else { return meant }
        meant.query.removeAll { names.contains($0.key) }
        for (name, text) in [("from", range.fixed.from), ("to", range.fixed.to)] {
            if let text { meant.query.append(HTTPRequest.Member(key: name, value: text)) }
        }
        return meant
    }

    /// Returns the page that shows a problem of `request`, with the form to change the query; `nil` if the path has no
    /// form.
    func page(_ problem: HTTPProblem, of request: HTTPRequest, now: WallDate) -> HTTPResponse? {
        let (title, names): (String, [String])
        switch request.path {
        case "/visits": (title, names) = ("Visits", ReportQuery.visits)
        case "/occupancy": (title, names) = ("Occupancy", ReportQuery.occupancy)
        default: return nil
        }
        var seen: Set<String> = []
        var once = request
        once.query.removeAll { !seen.insert($0.key).inserted }
        let query = self.query(names, once, now)
        return ProblemForm.page(
            problem, title: title, top: Self.top(String(request.path.dropFirst()), names, query))
    }

    /// Returns the command that makes the answer to `request`, whose path and query are checked.
    ///
    /// - Throws: ``HTTPProblem`` if `limit` or `after` is invalid.
    func order(_ request: HTTPRequest, now: WallDate) throws(HTTPProblem) -> ReportJob.Order {
        switch request.path {
        case "/visits":
            return page("Visits", "visits", ReportQuery.visits, request, now, try Self.rows(request))
        case "/occupancy": return page("Occupancy", "occupancy", ReportQuery.occupancy, request, now, [])
        case "/api/v1/visits":
            return data("visits", ReportQuery.visits, request, pages: try PageBounds(request))
        case "/api/v1/occupancy": return data("occupancy", ReportQuery.occupancy, request, pages: nil)
        case "/api/v1/status":
            return ReportJob.Order(
                arguments: ["status", "--json", "--config=\(configuration)"], kind: .asIs,
                contentType: "application/json")
        default: return explanation(request)
        }
    }

    /// Returns the options of a command for one page of a list: the number of rows, and the number of rows before them.
    ///
    /// - Throws: ``HTTPProblem`` if `limit` or `after` is invalid.
    private static func rows(_ request: HTTPRequest) throws(HTTPProblem) -> [String] {
        let limit = try PageBounds.limit(request, most: rowsMost, usual: rowsUsual)
        guard let text = request["after"] else { return ["--limit=\(limit)"] }
        guard let after = Int(text), (0...1 << 40).contains(after) else {
            throw ReportQuery.wrong("after", text, "expected the number of visits before the page")
        }
        return ["--limit=\(limit)", "--after=\(after)"]
    }

    private func data(
        _ command: String, _ names: [String], _ request: HTTPRequest, pages: PageBounds?
    ) -> ReportJob.Order {
        let isCSV = request["format"] == "csv"
        return ReportJob.Order(
            arguments: [command, isCSV ? "--csv" : "--json", "--config=\(configuration)"]
                + options(names, request.query),
            kind: isCSV
                ? .asIs
                : pages.map { bounds in .arrayPage(bounds) { PageBounds.next(request, after: "\($0)") } } ?? .array,
            contentType: isCSV ? "text/csv; charset=utf-8" : "application/json",
            fileName: isCSV ? "\(command).csv" : nil)
    }

    private func page(
        _ title: String, _ command: String, _ names: [String], _ request: HTTPRequest, _ now: WallDate,
        _ rows: [String]
    ) -> ReportJob.Order {
        let query = self.query(names, request, now)
        let top = Self.top(command, names, query)
        let same = (query + request.query.filter { $0.key == "limit" })
            .map { "\(PageBounds.encoded($0.key))=\(PageBounds.encoded($0.value))&" }.joined()
        return ReportJob.Order(
            arguments: [command, "--html=-", "--config=\(configuration)"]
                + (command == "visits"
                    ? ["--explanations=\(ReportQuery.explanations)", "--pages=/visits?\(same)"] : [])
                + rows + options(names, query),
            kind: .page(top: top), contentType: PageFrame.contentType,
            failurePage: (title, top))
    }

    /// Returns the part of a page's query that the command accepts, with a range if there is none.
    private func query(_ names: [String], _ request: HTTPRequest, _ now: WallDate) -> [HTTPRequest.Member] {
        var query = request.query.filter { names.contains($0.key) && !$0.value.isEmpty }
        if request["from"] == nil, request["to"] == nil, request["on"] == nil {
            let days = WallDate(microseconds: now.microseconds - (Self.pageDays - 1) * 86_400_000_000)
            query.insert(HTTPRequest.Member(key: "from", value: String(time.text(days).prefix(10))), at: 0)
        }
        return query
    }

    /// Returns the command for `/explain/17` and `/api/v1/explain?event=…`. The command checks the event.
    private func explanation(_ request: HTTPRequest) -> ReportJob.Order {
        if request.path == "/api/v1/explain", let event = request["event"] {
            return ReportJob.Order(
                arguments: ["explain", "--json", "--config=\(configuration)", "--", event], kind: .asIs,
                contentType: "application/json")
        }
        let number = request.path.dropFirst(ReportQuery.explanations.count)
        let title = "Line \(number)"
        return ReportJob.Order(
            arguments: ["explain", "--config=\(configuration)", "--", "\(number)"],
            kind: .text(title: title), contentType: PageFrame.contentType, failurePage: (title, ""))
    }

    /// Returns the options of a command. Each is one argument, so that no value can be an option of its own.
    private func options(_ names: [String], _ query: [HTTPRequest.Member]) -> [String] {
        query.filter { names.contains($0.key) && !$0.value.isEmpty }.map { "--\($0.key)=\($0.value)" }
    }

    /// Returns the value of a member. In a date with a time, the space that a `+` before the offset becomes in a query
    /// (WHATWG URL §5.1) is a `+` again.
    private static func value(_ member: HTTPRequest.Member) -> String {
        let text = member.value
        guard ["from", "to", "on"].contains(member.key), let space = text.lastIndex(of: " "),
            member.key == "on" || text[..<space].contains(":"), text[space...].dropFirst().first?.isNumber ?? false
        else { return text }
        return "\(text[..<space])+\(text[space...].dropFirst())"
    }

    /// Returns HTML with a form to change the query, and links to the same report as CSV and JSON.
    private static func top(_ command: String, _ names: [String], _ query: [HTTPRequest.Member]) -> String {
        func value(_ name: String) -> String {
            query.first { $0.key == name }.map { PlainText.html($0.value) } ?? ""
        }
        let hints = ["from": "2026-11-21", "to": "2026-11-21T18:00", "every": "15m", "by": "condition"]
        // A valid range that is given as `on` is in the fields from and to.
        let fields = names.filter { name in name != "on" || query.contains { $0.key == name } }.map { name in
            "<label>\(name)<br><input name=\"\(name)\" value=\"\(value(name))\" placeholder=\"\(hints[name] ?? "")\" size=\"14\"></label>"
        }.joined(separator: " ")
        let same = query.map { "\(PageBounds.encoded($0.key))=\(PageBounds.encoded($0.value))" }
            .joined(separator: "&amp;")
        return """
            <form method="get" action="/\(command)">\(fields) <button>Show</button></form>
            <p>This report <a href="/api/v1/\(command)?format=csv&amp;\(same)">as CSV</a>, <a href="/api/v1/\(command)?\(same)">as JSON</a></p>
            """
    }
}
