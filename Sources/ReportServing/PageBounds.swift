import JSON

/// Which part of an answer is asked for: `limit` and `after` of a query.
struct PageBounds: Sendable {
    /// How many lines, or rows, an answer has at most, unless fewer are asked for.
    static let limitMost = 10_000
    /// How many it has where nobody says.
    static let limitUsual = 1000

    /// The first lines, as many as are told where nobody says.
    static let first = PageBounds()

    /// How many at most.
    var limit = limitUsual
    /// Behind which place.
    var after: LinePlace?

    private init() {}

    /// What `request` asks for of the lines of a report.
    ///
    /// - Throws: ``HTTPProblem`` if `limit` or `after` is wrong.
    init(_ request: HTTPRequest) throws(HTTPProblem) {
        limit = try Self.limit(request)
        guard let text = request["after"] else { return }
        guard let place = LinePlace(text) else {
            throw ReportQuery.wrong("after", text, "expected the value of `next` in the previous page")
        }
        after = place
    }

    /// How many are told at most.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - most: how many may be asked for.
    ///   - usual: how many are told where nobody says.
    /// - Returns: the number.
    /// - Throws: ``HTTPProblem`` if `limit` is wrong.
    static func limit(
        _ request: HTTPRequest, most: Int = limitMost, usual: Int = limitUsual
    ) throws(HTTPProblem) -> Int {
        guard let text = request["limit"] else { return usual }
        guard text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let number = Int(text), (1...most).contains(number) else {
            throw ReportQuery.wrong("limit", text, "expected a number from 1 to \(most)")
        }
        return number
    }

    /// The address of the page behind `place`: the same query, and that.
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

    /// Returns the same with the address of the next page.
    static func more(left: Int, after place: String, next: String) -> [UInt8] {
        LinePayload.line { json in
            json.write("kind", word: "more")
            json.write("left", left)
            json.write("after", place)
            json.write("next", next)
        }
    }

    /// Percent-encoded (RFC 3986 §2.1), all but what is unreserved.
    static func encoded(_ text: String) -> String {
        var encoded = ""
        for octet in text.utf8 {
            switch octet {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(octet))
            default: encoded += octet < 16 ? "%0\(String(octet, radix: 16))" : "%\(String(octet, radix: 16))"
            }
        }
        return encoded
    }
}

/// A place in the lines of a report: behind how many of them, and what the last of those was, so that whoever goes on is told
/// where the files have changed meanwhile. As text: `1000-9ae16a3b`.
struct LinePlace: Sendable, Hashable, CustomStringConvertible {
    /// How many lines stand before it.
    var count: Int
    /// The last of those, by its ``LineMark``.
    var mark: UInt32

    init(count: Int, mark: UInt32) { (self.count, self.mark) = (count, mark) }

    /// The place that `text` names; `nil` where it names none.
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

/// What a line is known again by: FNV-1a of its octets, 32 bits (draft-eastlake-fnv).
struct LineMark {
    private(set) var value: UInt32 = 2_166_136_261

    mutating func add(_ octet: UInt8) { value = (value ^ UInt32(octet)) &* 16_777_619 }
}
