import CommandSupport
import JSON

/// Writes the payloads of lines again for clients, so that a damaged or forged line cannot end an event of a stream or
/// an element of an array.
final class LinePayload {
    private var text = JSONText()
    private var buffer = LineBuffer(forTerminals: 4096)

    /// Returns a payload as valid JSON on one line; `nil` if it is not a JSON object.
    func bytes(_ payload: ArraySlice<UInt8>) -> [UInt8]? {
        text.replace(with: payload.span)
        guard text.parse(), text.all.first?.kind == .object else { return nil }
        buffer.removeAll()
        buffer.append(text, at: 0)
        return buffer.bytes
    }

    /// Returns a JSON object on one line, with a line feed at its end. `body` writes its members.
    static func line(_ body: (inout LineBuffer) -> Void) -> [UInt8] { Array(LineBuffer.lineForTerminals(body).utf8) }
}
