import BaseTypes
import CommandSupport
import OperatorLogging

/// Text for the columns of a table on a terminal.
enum ScanText {
    /// Returns the part of a text that fits into `width` columns.
    ///
    /// Terminals differ. If one shows a text wider, its line is cut off, but does not wrap.
    static func cut(_ text: String, to width: Int) -> String {
        // Nearly all texts are ASCII and short enough.
        if text.utf8.count <= width { return text }
        var (kept, left) = ("", width)
        for character in text {
            left -= PlainText.columns(of: character)
            guard left >= 0 else { break }
            kept.append(character)
        }
        return kept
    }

    /// Returns a text in a column: numbers on the right, other texts on the left.
    static func column(_ text: String, _ width: Int, isNumber: Bool = false) -> String {
        PlainText.padded(cut(text, to: width), to: width, isNumber: isNumber)
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
