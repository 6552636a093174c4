import JSON

/// The requested part of an answer: `limit` and `after` of a query.
struct PageBounds: Sendable {
    /// The highest `limit` of a request for JSON, in lines. The rows of the page `/visits` have a lower one
    /// (`ReportOrders`).
    static let limitMost = 10_000
    /// The default of `limit`.
    static let limitUsual = 1000

    /// The first page with the default limit.
    static let first = PageBounds()

    /// The maximum number of lines or rows.
    var limit = limitUsual
    /// The place after which the page starts; `nil` means the first line.
    var after: LinePlace?

    private init() {}

    /// Reads the bounds of a request for the lines of a report.
    ///
    /// - Throws: ``HTTPProblem`` if `limit` or `after` is invalid.
    init(_ request: HTTPRequest) throws(HTTPProblem) {
        limit = try Self.limit(request)
        guard let text = request["after"] else { return }
        guard let place = LinePlace(text) else {
            throw ReportQuery.wrong("after", text, "expected the value of `next` in the previous page")
        }
        after = place
    }

    /// Returns the `limit` of a request.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - most: the highest valid number.
    ///   - usual: the default.
    /// - Returns: the number.
    /// - Throws: ``HTTPProblem`` if `limit` is invalid.
    static func limit(
        _ request: HTTPRequest, most: Int = limitMost, usual: Int = limitUsual
    ) throws(HTTPProblem) -> Int {
        guard let text = request["limit"] else { return usual }
        guard text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let number = Int(text), (1...most).contains(number) else {
            throw ReportQuery.wrong("limit", text, "expected a number from 1 to \(most)")
        }
        return number
    }

    /// Returns the address of the page after `place`: the same query with another `after`.
    static func next(_ request: HTTPRequest, after place: String) -> String {
        let same = request.query.filter { $0.key != "after" }.map { "\(encoded($0.key))=\(encoded($0.value))&" }
        return "\(request.path)?\(same.joined())after=\(encoded(place))"
    }

    /// Returns the last element of a page that is not the last page.
    ///
    /// - Parameters:
    ///   - request: the request for this page.
    ///   - left: the number of lines after it.
    ///   - place: the `after` of the next page.
    /// - Returns: `{"kind":"more",…}`, with a line feed at its end.
    static func more(_ request: HTTPRequest, left: Int, after place: String) -> [UInt8] {
        more(left: left, after: place, next: next(request, after: place))
    }

    /// Returns the same element for a given address of the next page.
    static func more(left: Int, after place: String, next: String) -> [UInt8] {
        LinePayload.line { json in
            json.write("kind", word: "more")
            json.write("left", left)
            json.write("after", place)
            json.write("next", next)
        }
    }

    /// Returns text with percent-encoding (RFC 3986 §2.1) of all characters except the unreserved ones.
    static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default: encoded += byte < 16 ? "%0\(String(byte, radix: 16))" : "%\(String(byte, radix: 16))"
            }
        }
        return encoded
    }
}

/// A place in the lines of a report: the number of lines before it, and the mark of the last of these. The mark detects
/// that the files have changed since the previous page. As text: `1000-9ae16a3b`.
struct LinePlace: Sendable, Hashable, CustomStringConvertible {
    /// The number of lines before the place.
    var count: Int
    /// The ``LineMark`` of the last of these lines.
    var mark: UInt32

    init(count: Int, mark: UInt32) { (self.count, self.mark) = (count, mark) }

    /// Reads a place; `nil` if `text` is not a valid place.
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].utf8.count == 8, let count = Int(parts[0]), count > 0, count < 1 << 40,
            let mark = UInt32(parts[1], radix: 16)
        else { return nil }
        (self.count, self.mark) = (count, mark)
    }

    var description: String {
        let digits = String(mark, radix: 16)
        return "\(count)-" + String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }
}

/// Identifies a line by a hash of its bytes: FNV-1a with 32 bits (draft-eastlake-fnv).
struct LineMark {
    private(set) var value: UInt32 = 2_166_136_261

    mutating func add(_ byte: UInt8) { value = (value ^ UInt32(byte)) &* 16_777_619 }
}
