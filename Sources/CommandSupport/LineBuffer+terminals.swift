package import JSON
import OperatorLogging

extension LineBuffer {
    /// Creates an empty buffer for output that can appear on a terminal. In JSON strings, it also escapes characters
    /// that are not harmless there.
    package init(forTerminals capacity: Int) { self.init(capacity: capacity, needsNoEscape: PlainText.isHarmless) }

    /// Returns one JSON object on one line for output that can appear on a terminal. `body` writes its members.
    package static func lineForTerminals(_ body: (inout LineBuffer) -> Void) -> String {
        var buffer = LineBuffer(forTerminals: 4096)
        buffer.object(body)
        buffer.append(byte: 0x0A)
        return buffer.text
    }
}
