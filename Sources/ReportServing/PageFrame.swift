import BeaconMonitoring
import CommandSupport
import JSON
import OperatorLogging
import Reports

/// What all pages have around what they tell.
enum PageFrame {
    static let contentType = "text/html; charset=utf-8"

    /// The links on top.
    static let navigation = """
        <nav aria-label="Pages"><a href="/">Who is here</a> <a href="/visits">Visits</a> \
        <a href="/occupancy">Occupancy</a> <a href="/gateways">Gateways</a></nav>
        """

    /// A whole page.
    ///
    /// - Parameters:
    ///   - title: its title, plain text.
    ///   - body: what stands in its main part, HTML.
    ///   - isLive: whether it is loaded anew when lines come, where scripts run.
    /// - Returns: its octets.
    static func page(_ title: String, _ body: String, isLive: Bool = false) -> [UInt8] {
        let script = isLive ? "<script src=\"/live.js\" defer></script>" : ""
        return Array(
            """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(PlainText.html(title))</title>
            <link rel="icon" href="/icon.svg"><link rel="stylesheet" href="/style.css">\(script)</head>
            <body><header>\(navigation)</header>
            <main>
            <h1>\(PlainText.html(title))</h1>
            \(body)</main></body></html>

            """.utf8)
    }

    /// A date for people, with what programs read.
    static func time(_ date: WallDate?, _ time: VisitsTime) -> String {
        guard let date else { return "not known" }
        let text = "\(time.text(date)) \(time.zone(at: date))"
        return "<time datetime=\"\(date.lineText.prefix(19))Z\">\(text)</time>"
    }
}
