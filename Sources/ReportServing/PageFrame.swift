import BeaconMonitoring
import CommandSupport
import JSON
import OperatorLogging
import Reports

/// The parts that all served pages have in common.
enum PageFrame {
    static let contentType = "text/html; charset=utf-8"

    private static let skeleton = PageSkeleton(PackageResources.page_html)

    /// The links at the top, without the line end of their file.
    static let navigation = String(decoding: PackageResources.navigation_html.dropLast(), as: UTF8.self)

    /// Returns the parts of a page before and after its body.
    ///
    /// - Parameters:
    ///   - title: its title, plain text.
    ///   - isLive: whether a script reloads its main part when lines arrive.
    /// - Returns: HTML.
    static func frame(_ title: String, isLive: Bool = false) -> (before: String, after: String) {
        let script = isLive ? "<script src=\"/live.js\" defer></script>" : ""
        return skeleton.frame([.title: PlainText.html(title), .navigation: navigation, .script: script])
    }

    /// Returns the bytes of a page whose body is the HTML in `body`.
    static func page(_ title: String, _ body: String, isLive: Bool = false) -> [UInt8] {
        let frame = frame(title, isLive: isLive)
        return Array((frame.before + body + frame.after).utf8)
    }

    /// Returns the element `time` of a date: the text in the zone of the report, and UTC as its attribute. A date that
    /// is `nil` results in `unknown`.
    static func time(_ date: WallDate?, _ time: ZonedTime) -> String {
        guard let date else { return "unknown" }
        let text = "\(time.text(date)) \(time.zone(at: date))"
        return "<time datetime=\"\(date.lineText.prefix(19))Z\">\(text)</time>"
    }
}
