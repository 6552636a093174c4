import OperatorLogging

/// Converts the output of a command to the body of an answer, piece by piece.
struct ReportForm {
    /// The kind of conversion.
    enum Kind {
        /// The output is sent without changes.
        case asIs
        /// The output is JSON lines, which become one array.
        case array
        /// The output is JSON lines, and some of them become one array. `next` returns the address of the page after a
        /// place.
        case arrayPage(PageBounds, next: (LinePlace) -> String)
        /// The output is a page, into which the HTML `top` is inserted.
        case page(top: String)
        /// The output is text for people, which becomes the body of a page with this title.
        case text(title: String)
    }

    /// The kind of conversion of this answer.
    let kind: Kind
    private var array = LinesAsArray()
    private var page: LinesAsPage?
    private var isBegun = false

    /// Creates a conversion that has no input yet.
    init(_ kind: Kind) {
        self.kind = kind
        if case .arrayPage(let bounds, let next) = kind { page = LinesAsPage(bounds, next: next) }
    }

    /// Whether the requested page starts after a line that has changed or does not exist any more. Then nothing has
    /// been sent.
    var isStale: Bool { page?.isStale ?? false }

    /// Returns the bytes to send for `bytes`. The first piece must contain the `<body>` of a page.
    mutating func take(_ bytes: [UInt8]) -> [UInt8] {
        defer { isBegun = true }
        switch kind {
        case .asIs: return bytes
        case .array: return array.take(bytes[...])
        case .arrayPage: return page?.take(bytes) ?? []
        case .page(let top):
            let body = Array("<body>".utf8)
            guard !isBegun, let place = bytes.firstRange(of: body) else { return bytes }
            return bytes[..<place.upperBound] + Array("<header>\(PageFrame.navigation)\n\(top)</header>\n".utf8)
                + bytes[place.upperBound...]
        case .text(let title):
            return beginning(title) + PlainText.html(bytes: bytes)
        }
    }

    /// Returns the end of the answer.
    mutating func end() -> [UInt8] {
        switch kind {
        case .asIs, .page: []
        case .array: array.end
        case .arrayPage: page?.end() ?? []
        case .text(let title): beginning(title) + Array("</pre>\n\(PageFrame.frame(title).after)".utf8)
        }
    }

    private func beginning(_ title: String) -> [UInt8] {
        isBegun ? [] : Array("\(PageFrame.frame(title).before)\n<pre>".utf8)
    }
}
