import OperatorLogging

/// What becomes of what a command writes on its way to whoever asked, piece by piece.
struct ReportForm {
    /// As which of them.
    enum Kind {
        /// As it is.
        case asIs
        /// JSON lines, as one array.
        case array
        /// JSON lines, as one array of some of them; the address of the page behind a place.
        case arrayPage(PageBounds, next: (LinePlace) -> String)
        /// A page of the command's, with what goes on top of it, HTML.
        case page(top: String)
        /// Text for people, in a page of this title.
        case text(title: String)
    }

    /// The shape of what the command prints, and of what goes out.
    let kind: Kind
    private var array = LinesAsArray()
    private var page: LinesAsPage?
    private var isBegun = false

    /// Nothing has come yet.
    init(_ kind: Kind) {
        self.kind = kind
        if case .arrayPage(let bounds, let next) = kind { page = LinesAsPage(bounds, next: next) }
    }

    /// Whether what is asked for begins behind something that is not there any more: nothing has gone out then.
    var isStale: Bool { page?.isStale ?? false }

    /// What is sent for `octets`; a page's beginning has to come in the first of them.
    mutating func take(_ octets: [UInt8]) -> [UInt8] {
        defer { isBegun = true }
        switch kind {
        case .asIs: return octets
        case .array: return array.take(octets[...])
        case .arrayPage: return page?.take(octets) ?? []
        case .page(let top):
            let body = Array("<body>".utf8)
            guard !isBegun, let place = octets.firstRange(of: body) else { return octets }
            return octets[..<place.upperBound] + Array("<header>\(PageFrame.navigation)\n\(top)</header>\n".utf8)
                + octets[place.upperBound...]
        case .text(let title):
            return beginning(title) + PlainText.html(bytes: octets)
        }
    }

    /// What ends it.
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
