import BaseTypes
import CommandSupport

/// Text for the columns of a table on a terminal.
enum ScanText {
    /// Returns how many columns of a terminal a text probably takes: two for wide characters, none for combining ones.
    ///
    /// Terminals differ. If one differs here, a line is cut off, but does not wrap.
    static func width(_ text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + width(of: $1) } }

    private static func width(of scalar: Unicode.Scalar) -> Int {
        if scalar.isASCII { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: break
        }
        // The ranges of wide characters, roughly: Unicode Standard Annex #11.
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }

    /// Returns the part of a text that fits into `width` columns.
    static func cut(_ text: String, to width: Int) -> String {
        // Nearly all texts are ASCII and short enough.
        if text.utf8.count <= width { return text }
        var (kept, left) = ("", width)
        for scalar in text.unicodeScalars {
            left -= Self.width(of: scalar)
            guard left >= 0 else { break }
            kept.unicodeScalars.append(scalar)
        }
        return kept
    }

    /// Returns a text in a column: numbers on the right, other texts on the left.
    static func column(_ text: String, _ width: Int, isNumber: Bool = false) -> String {
        let kept = cut(text, to: width)
        let padding = String(repeating: " ", count: max(width - Self.width(kept), 0))
        return isNumber ? padding + kept : kept + padding
    }

    /// Returns a number of tenths with its decimal.
    static func tenths(_ number: Int) -> String {
        (number < 0 ? "-" : "") + "\(abs(number) / 10).\(abs(number) % 10)"
    }

    /// Returns a distance in metres with a useful precision.
    static func distance(_ metres: Double?) -> String {
        guard let metres, metres.isFinite else { return "-" }
        if metres >= 1000 { return ">999" }
        return metres >= 100 ? "\(Int(metres))" : tenths(Int((metres * 10).rounded()))
    }

    /// Returns a duration in seconds with one decimal.
    static func seconds(_ duration: Duration) -> String { duration.inTenths + "s" }
}
