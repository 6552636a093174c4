/// The fields of an advertisement log's objects.
enum LogField: Int, CaseIterable {
    case time, adapter, address, addressType, rssi, data, uuid, major, minor, measuredPower, listening

    /// Its name in our own log; `time` has a second one.
    var name: String { "\(self)" }
    var defaultNames: [String] { self == .time ? ["time", "t"] : [name] }
}

/// How other people's advertisement logs name the fields: `adapter=scannerID,measuredPower=calibratedPower|power`.
///
/// Of several names the first that is there and not 0 counts. A field that is mapped is looked for under those names
/// alone.
public struct FieldMap: Sendable, Hashable {
    /// The most names that are told apart.
    static let namesMax = 64
    /// The longest name, in UTF-8 bytes.
    static let nameBytesMax = 64

    private(set) var names: [[String]] = LogField.allCases.map(\.defaultNames)

    /// Our own log's names.
    public init() {}

    /// What `text` says, in the syntax of `--fields`.
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
                throw .fieldsInvalid("maps \"\(sides[0])\", which is no field; there are \(known)")
            }
            guard mapped.insert(field).inserted else { throw .fieldsInvalid("maps \(field.name) twice") }
            let alternatives = sides[1].split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            for name in alternatives where name.isEmpty || name.utf8.count > Self.nameBytesMax {
                throw .fieldsInvalid("maps \(field.name) to \"\(name)\"; a name has 1 to \(Self.nameBytesMax) bytes")
            }
            names[field.rawValue] = alternatives
        }
        let count = Set(names.joined()).count
        guard count <= Self.namesMax else {
            throw .fieldsInvalid("comes to \(count) names; at most \(Self.namesMax) are told apart")
        }
    }
}

/// Finds out which value a key of an object names. A slot is a key that matters.
struct LogKeys {
    // The keys' bytes behind one another, and where each slot's begin and end.
    private var bytes: [UInt8] = []
    private var bounds: [Range<Int>] = []
    // The first slot whose key has a length, and the next of the same length; -1 where there is none.
    private var firstOfLength = [Int](repeating: -1, count: FieldMap.nameBytesMax + 1)
    private var nextOfLength: [Int] = []
    // The slots of a field, the preferred first: a range of `order`.
    private(set) var order: [Int] = []
    private(set) var slots: [Range<Int>] = []

    init(_ fields: FieldMap) {
        var known: [String: Int] = [:]
        for names in fields.names {
            let start = order.count
            for name in names {
                if known[name] == nil {
                    known[name] = bounds.count
                    let utf8 = Array(name.utf8)
                    bounds.append(bytes.count..<bytes.count + utf8.count)
                    bytes += utf8
                    nextOfLength.append(firstOfLength[utf8.count])
                    firstOfLength[utf8.count] = bounds.count - 1
                }
                if let slot = known[name] { order.append(slot) }
            }
            slots.append(start..<order.count)
        }
    }

    /// The slot of the key that stands in `range` of `text`; `nil` for one that does not matter.
    @inline(__always) func slot(of text: Span<UInt8>, _ range: Range<Int>) -> Int? {
        guard range.count < firstOfLength.count else { return nil }
        var slot = firstOfLength[range.count]
        while slot >= 0 {
            let start = bounds[slot].lowerBound
            var index = 0
            while index < range.count, bytes[start + index] == text[range.lowerBound + index] { index += 1 }
            if index == range.count { return slot }
            slot = nextOfLength[slot]
        }
        return nil
    }
}
