import CLinux
import Glibc
import JSON

/// The parts of a line that a publisher needs: the topic, the number and the bytes of the payload.
///
/// Reuse one value for many lines. A line in the order of keys that the gateway writes is parsed in one pass. Other
/// valid lines are parsed as JSON.
public struct LineMessage {
    /// The first level or levels of topics for lines that have no envelope.
    public let prefix: String
    /// The number of the line; `nil` if it has none and is not delivered reliably.
    public private(set) var sequence: Int?
    /// The topic in UTF-8, followed by a zero byte.
    public private(set) var topic: [UInt8] = []
    /// The range of the bytes to publish.
    public private(set) var payload: Range<Int> = 0..<0
    /// Whether the line is published. False for `evidence` and `erased`, and for topics that MQTT does not allow.
    public private(set) var isPublished = false
    /// Whether it is an `erased` line: its content was erased and only its number is left, or it reports an erasure.
    public private(set) var isErased = false

    // MQTT 5 §1.5.4.
    private static let topicMax = 65_535

    private var parser = LineParser()
    private var position = 0

    /// Creates a reader. Lines without a topic get one that starts with `prefix`.
    public init(prefix: String) { self.prefix = prefix }

    /// Parses a line without its line end.
    ///
    /// - Returns: false if the bytes are not a line.
    public mutating func parse(_ line: [UInt8]) -> Bool {
        sequence = nil
        isPublished = false
        isErased = false
        topic.removeAll(keepingCapacity: true)
        return parseEnvelope(line) || parseClosely(line)
    }

    // MARK: Fast path

    /// `{"topic":"…","qos":1,"retain":false,"payload":{"version":2,"type":"…","gateway":"…","boot":"…","sequence":N,…}}`.
    private mutating func parseEnvelope(_ line: [UInt8]) -> Bool {
        position = 0
        guard skip("{\"topic\":\"", line) else { return false }
        let start = position
        guard skipText(line), position > start + 1 else { return false }
        let end = position - 1
        guard skip(",\"qos\":1,\"retain\":false,\"payload\":", line) else { return false }
        let payloadStart = position
        guard skip("{\"version\":", line), self.number(line) != nil, skip(",\"type\":\"", line) else {
            return false
        }
        let type = position
        guard skipText(line) else { return false }
        let isErased = Self.isErased(line[type..<position - 1])
        guard skip(",\"gateway\":\"", line), skipText(line) else { return false }
        if skip(",\"boot\":\"", line), !skipText(line) { return false }
        guard skip(",\"sequence\":", line), let number = number(line), number > 0, line.count > position + 2,
            line[line.count - 1] == UInt8(ascii: "}"), line[line.count - 2] == UInt8(ascii: "}")
        else { return false }
        guard number <= LinePosition.sequenceMax, !Self.holdsAnother(line) else { return false }
        sequence = number
        self.isErased = isErased
        guard !isErased, Self.isTopic(line[start..<end]) else { return true }
        topic.append(contentsOf: line[start..<end])
        topic.append(0)
        payload = payloadStart..<line.count - 1
        isPublished = true
        return true
    }

    private static func isErased(_ type: ArraySlice<UInt8>) -> Bool { type.elementsEqual("erased".utf8) }

    /// Returns true if the bytes are a topic that can be published to: UTF-8 without control characters (MQTT 5 §1.5.4)
    /// and wildcards (§4.7.1), 1 to 65,535 bytes.
    private static func isTopic(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard (1...topicMax).contains(bytes.count) else { return false }
        var isPlain = true
        for byte in bytes {
            switch byte {
            case ..<0x20, UInt8(ascii: "+"), UInt8(ascii: "#"): return false
            case 0x7F...: isPlain = false
            default: break
            }
        }
        if isPlain { return true }
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        return text.unicodeScalars.allSatisfy { !(0x7F...0x9F).contains($0.value) }
    }

    /// Returns true if another line starts within this one. Then the end of the first line is damaged.
    private static func holdsAnother(_ line: [UInt8]) -> Bool {
        let beginning: StaticString = "{\"topic\":\""
        return unsafe line.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            return unsafe memmem(start + 1, bytes.count - 1, beginning.utf8Start, beginning.utf8CodeUnitCount) != nil
        }
    }

    private mutating func skip(_ text: StaticString, _ line: [UInt8]) -> Bool {
        let size = text.utf8CodeUnitCount
        guard line.count - position >= size else { return false }
        for index in 0..<size {
            guard unsafe line[position + index] == text.utf8Start[index] else { return false }
        }
        position += size
        return true
    }

    /// Moves past the quotation mark that ends a string. Returns false if the string has an escape or a control
    /// character, or does not end.
    private mutating func skipText(_ line: [UInt8]) -> Bool {
        while position < line.count {
            let byte = line[position]
            position += 1
            if byte == UInt8(ascii: "\"") { return true }
            if byte == UInt8(ascii: "\\") || byte < 0x20 { return false }
        }
        return false
    }

    private mutating func number(_ line: [UInt8]) -> Int? {
        var number = 0
        let start = position
        while position < line.count, (0x30...0x39).contains(line[position]), position - start < 18 {
            number = number * 10 + Int(line[position] - 0x30)
            position += 1
        }
        return position > start && position < line.count && !(0x30...0x39).contains(line[position]) ? number : nil
    }

    // MARK: Full parsing

    private mutating func parseClosely(_ line: [UInt8]) -> Bool {
        parser.text.bytes.removeAll(keepingCapacity: true)
        parser.text.bytes.append(contentsOf: line)
        guard parser.parse() else { return false }
        sequence = parser.head.sequence
        let text = parser.text
        // Lines without a number are not delivered reliably, and evidence is not published.
        let type = text.find("type", in: parser.payload)
        isErased = text.isText("erased", at: type)
        isPublished = !isErased && !text.isText("evidence", at: type)
        guard isPublished else { return true }
        let path = text.string(text.find("topic", in: 0)) ?? composedTopic()
        guard let path, Self.isTopic(Array(path.utf8)[...]), !Self.isRepaired(path, line) else {
            isPublished = false
            return sequence != nil
        }
        topic.append(contentsOf: path.utf8)
        topic.append(0)
        let range = text.range(of: parser.payload)
        payload = range.lowerBound + parser.passedOver..<range.upperBound + parser.passedOver
        return true
    }

    /// Returns true if bytes of `line` that are not valid UTF-8 became U+FFFD, which would give another topic.
    private static func isRepaired(_ path: String, _ line: [UInt8]) -> Bool {
        path.unicodeScalars.contains("\u{FFFD}") && String(validating: line, as: UTF8.self) == nil
    }

    /// Returns the topic for a line without an envelope.
    private func composedTopic() -> String? {
        guard let gateway = parser.string("gateway"), let type = parser.string("type") else { return nil }
        let stem = "\(prefix)/\(gateway)/\(type)"
        guard let name = parser.string("identifier") ?? parser.string("adapter") else { return stem }
        let text = parser.text
        // In version 1, beacons had no topics of their own.
        guard parser.head.version > 1, parser.head.kind == .event || parser.head.kind == .visit,
            text.isText("beacon", at: text.find("scope", in: parser.payload)),
            let beacon = text.beacon(text.find("refinement", in: parser.payload))
        else { return "\(stem)/\(name)" }
        return "\(stem)/\(name)/\(beacon)"
    }
}
