/// The fields of an advertisement log's objects.
enum LogField: Int, CaseIterable {
    case time, adapter, adapterAddress, address, addressType, rssi, data, manufacturerData, uuid, major, minor,
        measuredPower, listening, since

    /// The fields of which an object must have at least one, unless it has only the time of an adapter.
    static let content: [LogField] = [.data, .manufacturerData, .uuid, .listening]

    /// The name in the advertisement log of this project; `time` has two more.
    var name: String { "\(self)" }
    // mosquitto_sub(1) has the time of a message as `tst`.
    var defaultNames: [String] { self == .time ? ["time", "tst", "t"] : [name] }
    /// Whether it is a number, which can also be a text.
    var isNumber: Bool {
        switch self {
        case .time, .rssi, .major, .minor, .measuredPower: true
        default: false
        }
    }
    /// Whether its text can be in base64.
    var isBytes: Bool { self == .data || self == .manufacturerData }
}

/// The names of the fields in an advertisement log of another program:
/// `adapter=scannerID,measuredPower=calibratedPower|power`.
///
/// A name can be a path: `report.adv` is the value of `adv` in the object `report`, which can also be the text of an
/// object. A key with this name, full stop included, precedes it. `data=raw:base64` reads the text of `raw` as base64
/// (RFC 4648 §4 and §5) instead of hexadecimal; this is possible for `data` and `manufacturerData`.
///
/// If a field has several names, the first one counts that is present and not 0. A field that is mapped has only those
/// names. A name to which any field is mapped is not read as `data`, `manufacturerData`, `uuid` or `listening`, unless
/// that field is also mapped to it.
///
///     let fields = try FieldMap("adapter=scannerID,measuredPower=calibratedPower|power")
///     var reader = try CaptureReader(.path(path), options: CaptureOptions(fields: fields))
public struct FieldMap: Sendable, Hashable {
    /// The maximum number of different names.
    static let namesMax = 64
    /// The maximum length of a name in UTF-8 bytes.
    static let nameBytesMax = 64

    static let base64Suffix = ":base64"

    private(set) var names: [[String]] = LogField.allCases.map(\.defaultNames)
    /// For each field, the names whose texts are in base64.
    private(set) var base64 = [Set<String>](repeating: [], count: LogField.allCases.count)

    /// Creates the map with the names of the advertisement log itself.
    public init() {}

    /// Creates the map of a text in the syntax of `--fields`.
    ///
    /// - Throws: ``CaptureError/fieldsInvalid(_:)``.
    public init(_ text: String) throws(CaptureError) {
        var mapped: Set<LogField> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard sides.count == 2 else {
                throw .fieldsInvalid("has \"\(part)\"; expected FIELD=NAME or FIELD=NAME|NAME")
            }
            guard let field = LogField.allCases.first(where: { $0.name == sides[0] }) else {
                let known = LogField.allCases.map(\.name).joined(separator: ", ")
                throw .fieldsInvalid("maps \"\(sides[0])\", which is not a field; the fields are \(known)")
            }
            guard mapped.insert(field).inserted else { throw .fieldsInvalid("maps \(field.name) twice") }
            var alternatives = sides[1].split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            for index in alternatives.indices where alternatives[index].hasSuffix(Self.base64Suffix) {
                guard field.isBytes else {
                    throw .fieldsInvalid(
                        "maps \(field.name) to \"\(alternatives[index])\"; only data and manufacturerData can be base64"
                    )
                }
                alternatives[index].removeLast(Self.base64Suffix.count)
                base64[field.rawValue].insert(alternatives[index])
            }
            for name in base64[field.rawValue] where alternatives.count(where: { $0 == name }) > 1 {
                throw .fieldsInvalid("maps \(field.name) to \"\(name)\" twice")
            }
            for name in alternatives where name.isEmpty || name.utf8.count > Self.nameBytesMax {
                throw .fieldsInvalid("maps \(field.name) to \"\(name)\"; a name has 1 to \(Self.nameBytesMax) bytes")
            }
            names[field.rawValue] = alternatives
        }
        // With `data.raw`, the object `data` is not an advertisement.
        let mappedNames = Set(mapped.flatMap { names[$0.rawValue].flatMap(Self.starts(of:)) })
        for field in LogField.content where !mapped.contains(field) {
            names[field.rawValue].removeAll { mappedNames.contains($0) }
        }
        let count = Set(names.joined()).count
        guard count <= Self.namesMax else {
            throw .fieldsInvalid("has \(count) names; at most \(Self.namesMax) are possible")
        }
    }
}

extension FieldMap {
    /// Returns a name and the paths of the objects that can have it: `a.b.c`, `a.b`, `a`.
    private static func starts(of name: String) -> [String] {
        [name] + name.indices.filter { name[$0] == "." }.map { String(name[..<$0]) }
    }
}

/// Finds the field of a key. A slot is the number of a key that is used.
struct LogKeys {
    // The bytes of all keys, and the range of each slot in them.
    private var bytes: [UInt8] = []
    private var bounds: [Range<Int>] = []
    private var heads: [UInt64] = []
    // The first slot whose key has a length, and the next slot with the same length; -1 if there is none.
    private var firstOfLength = [Int](repeating: -1, count: FieldMap.nameBytesMax + 1)
    private var nextOfLength: [Int] = []
    // The slots of each field, the preferred one first: a range of `order`.
    private(set) var order: [Int] = []
    private(set) var slots: [Range<Int>] = []
    // For each element of `order`, whether the texts are in base64; empty if none is.
    private var isBase64: [Bool] = []
    /// The slots whose names can be paths.
    private(set) var paths: [Int] = []
    var hasPaths: Bool { !paths.isEmpty }

    init(_ fields: FieldMap) {
        var known: [String: Int] = [:]
        for (field, names) in fields.names.enumerated() {
            let start = order.count
            for name in names {
                if known[name] == nil {
                    known[name] = bounds.count
                    let utf8 = Array(name.utf8)
                    bounds.append(bytes.count..<bytes.count + utf8.count)
                    bytes += utf8
                    if utf8.contains(UInt8(ascii: ".")) { paths.append(bounds.count - 1) }
                    heads.append(Self.head(utf8.span, 0..<utf8.count))
                    nextOfLength.append(firstOfLength[utf8.count])
                    firstOfLength[utf8.count] = bounds.count - 1
                }
                if let slot = known[name] { order.append(slot) }
                isBase64.append(fields.base64[field].contains(name))
            }
            slots.append(start..<order.count)
        }
        if !isBase64.contains(true) { isBase64 = [] }
    }

    /// Whether the texts of any name are in base64.
    var hasBase64: Bool { !isBase64.isEmpty }

    /// Returns whether the text of a field is in base64 if it is the value of the slot for which `isRead` is true.
    func isBase64(_ field: LogField, _ isRead: (_ slot: Int) -> Bool) -> Bool {
        slots[field.rawValue].contains { isBase64[$0] && isRead(order[$0]) }
    }

    /// Returns the slots of fields as a mask: bit n for slot n.
    func mask(of fields: [LogField]) -> UInt64 {
        fields.reduce(0) { mask, field in order[slots[field.rawValue]].reduce(mask) { $0 | 1 << UInt64($1) } }
    }

    /// Returns the UTF-8 bytes of a slot's key.
    func utf8(of slot: Int) -> ArraySlice<UInt8> { bytes[bounds[slot]] }

    /// Returns the key of a slot.
    func name(of slot: Int) -> String { String(decoding: utf8(of: slot), as: UTF8.self) }

    /// The UTF-8 bytes of all keys.
    var names: [[UInt8]] { bounds.map { Array(bytes[$0]) } }

    /// Returns the slot of the key in `range` of `text`; `nil` if it is not used.
    @inline(__always) func slot(of text: Span<UInt8>, _ range: Range<Int>) -> Int? {
        guard range.count < firstOfLength.count else { return nil }
        var slot = firstOfLength[range.count]
        guard slot >= 0 else { return nil }
        let head = Self.head(text, range)
        while slot >= 0 {
            if heads[slot] == head, range.count <= 8 || hasTail(slot, text, range) { return slot }
            slot = nextOfLength[slot]
        }
        return nil
    }

    @inline(never) private func hasTail(_ slot: Int, _ text: Span<UInt8>, _ range: Range<Int>) -> Bool {
        let start = bounds[slot].lowerBound
        for index in 8..<range.count where bytes[start + index] != text[range.lowerBound + index] { return false }
        return true
    }

    /// Returns the first eight bytes of a key as one word. A shorter key is filled with zeros.
    @inline(__always) private static func head(_ text: Span<UInt8>, _ range: Range<Int>) -> UInt64 {
        let count = min(range.count, 8)
        guard range.lowerBound + 8 <= text.count else {
            var word: UInt64 = 0
            for index in 0..<count { word |= UInt64(text[range.lowerBound + index]) << UInt64(8 * index) }
            return word
        }
        let word = unsafe text.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: range.lowerBound, as: UInt64.self)
        return count == 8 ? word.littleEndian : word.littleEndian & (1 << UInt64(8 * count) - 1)
    }
}
