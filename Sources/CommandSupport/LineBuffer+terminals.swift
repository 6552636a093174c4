package import JSON
import OperatorLogging

extension LineBuffer {
    /// An empty buffer for output that a terminal may be shown: in JSON strings, what is not harmless is escaped too.
    package init(forTerminals capacity: Int) { self.init(capacity: capacity, mayStand: PlainText.isHarmless) }

    /// One JSON object on one line that a terminal may be shown: `body` writes its members.
    package static func lineForTerminals(_ body: (inout LineBuffer) -> Void) -> String {
        var buffer = LineBuffer(forTerminals: 4096)
        buffer.object(body)
        buffer.append(octet: 0x0A)
        return buffer.text
    }
}
