import Foundation
import OperatorLogging
import Testing

/// Text as hostile as a file or an advertiser can send it.
package enum HostileText {
    /// A title for the window, a clear screen, an 8-bit CSI, a DEL, a carriage return, text that runs backwards, a tag,
    /// a place of a page.
    package static let evil =
        "=a\u{1B}]0;x\u{07}\u{1B}[2J\u{9B}31m\u{7F}\r\u{202E}txt\u{2066}<script>'\"\u{E0041}{{style}}"
    package static let json = String(
        decoding: evil.unicodeScalars.flatMap { scalar -> [UInt8] in
            if scalar == "\"" { return Array("\\\"".utf8) }
            // Raw where JSON allows it, so that it is our reader that has it.
            return scalar.value < 0x20
                ? Array(String(format: "\\u%04x", scalar.value).utf8) : Array(String(scalar).utf8)
        }, as: UTF8.self)

    /// Expects text that a terminal shows as it is.
    package static func expectHarmless(_ octets: [UInt8], location: SourceLocation = #_sourceLocation) {
        let text = String(decoding: octets, as: UTF8.self)
        #expect(text.utf8.elementsEqual(octets), "it is no UTF-8", sourceLocation: location)
        let bad = text.unicodeScalars.filter { $0 != "\n" && !PlainText.isHarmless($0) }
        #expect(
            bad.isEmpty, "\(bad.map { String($0.value, radix: 16) }) in \(text.debugDescription)",
            sourceLocation: location)
    }
}
