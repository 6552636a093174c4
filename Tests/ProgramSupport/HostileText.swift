import Foundation
import OperatorLogging
import Testing

/// Hostile text, as a file or an advertiser can send it.
package enum HostileText {
    /// The start of a formula, a window title, a clear screen, an 8-bit CSI, a DEL, a carriage return, text in reversed
    /// direction, a tag, an invisible character and a placeholder of a page.
    package static let evil =
        "=a\u{1B}]0;x\u{07}\u{1B}[2J\u{9B}31m\u{7F}\r\u{202E}txt\u{2066}<script>'\"\u{E0041}{{style}}"
    package static let json = String(
        decoding: evil.unicodeScalars.flatMap { scalar -> [UInt8] in
            if scalar == "\"" { return Array("\\\"".utf8) }
            // Characters are not escaped if JSON allows it, so that the reader of this project must handle them.
            return scalar.value < 0x20
                ? Array(String(format: "\\u%04x", scalar.value).utf8) : Array(String(scalar).utf8)
        }, as: UTF8.self)

    /// Records an issue unless a terminal shows the text unchanged.
    package static func expectHarmless(_ bytes: [UInt8], location: SourceLocation = #_sourceLocation) {
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.utf8.elementsEqual(bytes), "the text must be UTF-8", sourceLocation: location)
        let bad = text.unicodeScalars.filter { $0 != "\n" && !PlainText.isHarmless($0) }
        #expect(
            bad.isEmpty, "\(bad.map { String($0.value, radix: 16) }) in \(text.debugDescription)",
            sourceLocation: location)
    }
}
