/// The part of a page that is the same for all content: the HTML of a resource file, with places such as `{{title}}`.
///
/// A value is inserted unchanged and is not searched for places. The caller must escape plain text in it
/// (`PlainText.html`).
package struct PageSkeleton: Sendable {
    /// A place in a skeleton, between `{{` and `}}`. Other text between them is not a place.
    package enum Place: String, Sendable {
        case alarm, asOf, body, heading, made, navigation, script, style, summary, title
    }

    // The text after each place. The text before the first place has none.
    private let parts: [(place: Place?, text: String)]

    /// Reads a skeleton from the bytes of its file.
    package init(_ file: [UInt8]) {
        let pieces = String(decoding: file, as: UTF8.self).split(separator: "{{", omittingEmptySubsequences: false)
        parts = pieces.enumerated().map { number, piece in
            guard number > 0, let end = piece.firstRange(of: "}}"),
                let place = Place(rawValue: String(piece[..<end.lowerBound]))
            else { return (nil, number == 0 ? String(piece) : "{{\(piece)") }
            return (place, String(piece[end.upperBound...]))
        }
    }

    /// Returns the page with `values` at their places. A place without a value stays empty.
    package func page(_ values: [Place: String]) -> String {
        let (before, after) = frame(values)
        return before + after
    }

    /// Returns the page in two parts: before the place `body`, and from it on.
    package func frame(_ values: [Place: String]) -> (before: String, after: String) {
        let body = parts.firstIndex { $0.place == .body } ?? parts.endIndex
        func text(_ parts: ArraySlice<(place: Place?, text: String)>) -> String {
            parts.map { part in (part.place.flatMap { values[$0] } ?? "") + part.text }.joined()
        }
        return (text(parts[..<body]), text(parts[body...]))
    }
}
