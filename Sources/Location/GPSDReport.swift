/// One report of gpsd's: the scalars of a JSON object's first level; what is nested is passed over.
///
/// Source: gpsd_json(5) and RFC 8259. Whatever is not such an object is none: nothing that is sent may trap.
struct GPSDReport {
    /// A scalar of the first level.
    enum Value: Equatable {
        case number(Double)
        case text(String)
        case bool(Bool)
        /// An array's or an object's number of elements, commas counted; nothing else of it is kept.
        case nested(count: Int)
        case null
    }

    /// Deeper nesting is none; gpsd's own is three levels.
    static let depthMax = 16
    /// More keys than any class has.
    static let keysMax = 128

    private(set) var values: [String: Value] = [:]

    /// The report that a line is; `nil` where it is none.
    init?(_ line: some Collection<UInt8>) {
        var scanner = Scanner(octets: Array(line))
        scanner.skipSpace()
        guard scanner.take(UInt8(ascii: "{")) else { return nil }
        scanner.skipSpace()
        if !scanner.take(UInt8(ascii: "}")) {
            repeat {
                scanner.skipSpace()
                guard let key = scanner.string() else { return nil }
                scanner.skipSpace()
                guard scanner.take(UInt8(ascii: ":")), let value = scanner.value(depth: 1) else { return nil }
                if values.count < Self.keysMax || values[key] != nil { values[key] = value }
                scanner.skipSpace()
            } while scanner.take(UInt8(ascii: ","))
            guard scanner.take(UInt8(ascii: "}")) else { return nil }
        }
        scanner.skipSpace()
        guard scanner.isAtEnd else { return nil }
    }

    func number(_ key: String) -> Double? {
        if case .number(let number)? = values[key] { number } else { nil }
    }

    func text(_ key: String) -> String? {
        if case .text(let text)? = values[key] { text } else { nil }
    }

    func count(_ key: String) -> Int? {
        if case .nested(let count)? = values[key] { count } else { nil }
    }

    private struct Scanner {
        let octets: [UInt8]
        var place = 0

        var isAtEnd: Bool { place >= octets.count }
        private var next: UInt8? { place < octets.count ? octets[place] : nil }

        mutating func skipSpace() {
            while let octet = next, octet == 0x20 || octet == 0x09 || octet == 0x0A || octet == 0x0D { place += 1 }
        }

        mutating func take(_ octet: UInt8) -> Bool {
            guard next == octet else { return false }
            place += 1
            return true
        }

        mutating func string() -> String? {
            guard take(UInt8(ascii: "\"")) else { return nil }
            var text: [UInt8] = []
            while let octet = next {
                place += 1
                if octet == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
                if octet < 0x20 { return nil }
                guard octet == UInt8(ascii: "\\") else {
                    text.append(octet)
                    continue
                }
                guard let escaped = next else { return nil }
                place += 1
                switch escaped {
                case UInt8(ascii: "u"):
                    guard place + 4 <= octets.count else { return nil }
                    // Names and paths have none that would matter: any character stands for it.
                    place += 4
                    text.append(UInt8(ascii: "?"))
                case UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"), UInt8(ascii: "b"), UInt8(ascii: "f"):
                    text.append(0x20)
                default: text.append(escaped)
                }
            }
            return nil
        }

        mutating func value(depth: Int) -> Value? {
            guard depth < GPSDReport.depthMax else { return nil }
            skipSpace()
            switch next {
            case UInt8(ascii: "\""): return string().map { .text($0) }
            case UInt8(ascii: "{"): return nested(UInt8(ascii: "}"), depth: depth, hasKeys: true)
            case UInt8(ascii: "["): return nested(UInt8(ascii: "]"), depth: depth, hasKeys: false)
            case UInt8(ascii: "t"): return word("true", .bool(true))
            case UInt8(ascii: "f"): return word("false", .bool(false))
            case UInt8(ascii: "n"): return word("null", .null)
            default: return number()
            }
        }

        private mutating func nested(_ end: UInt8, depth: Int, hasKeys: Bool) -> Value? {
            place += 1
            skipSpace()
            if take(end) { return .nested(count: 0) }
            var count = 0
            repeat {
                skipSpace()
                if hasKeys {
                    guard string() != nil else { return nil }
                    skipSpace()
                    guard take(UInt8(ascii: ":")) else { return nil }
                }
                guard value(depth: depth + 1) != nil else { return nil }
                count += 1
                skipSpace()
            } while take(UInt8(ascii: ","))
            return take(end) ? .nested(count: count) : nil
        }

        private mutating func word(_ word: String, _ value: Value) -> Value? {
            let octets = Array(word.utf8)
            guard place + octets.count <= self.octets.count,
                self.octets[place..<place + octets.count].elementsEqual(octets)
            else { return nil }
            place += octets.count
            return value
        }

        private mutating func number() -> Value? {
            let start = place
            while let octet = next,
                (0x30...0x39).contains(octet) || octet == UInt8(ascii: "-") || octet == UInt8(ascii: "+")
                    || octet == UInt8(ascii: ".") || octet == UInt8(ascii: "e") || octet == UInt8(ascii: "E")
            { place += 1 }
            // Longer ones are none: the longest double has 24 characters.
            guard place > start, place - start <= 64,
                let number = Double(String(decoding: octets[start..<place], as: UTF8.self)), number.isFinite
            else { return nil }
            return .number(number)
        }
    }
}
