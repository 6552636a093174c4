/// Why an object of an advertisement log is not a record.
struct LogProblem: Error {
    let description: String

    init(_ description: String) { self.description = description }
    init(_ field: LogField, _ words: String) { description = "\(field.name) \(words)" }
}

struct LogState {
    var scanner: LogScanner
    /// The slots of the fields that make an object a record.
    private let contentSlots: UInt64
    /// The keys that a record without these fields can have.
    private let keysOfTimes: Set<String>

    init(fields: FieldMap) {
        scanner = LogScanner(fields)
        let keys = scanner.keys
        contentSlots = [LogField.data, .manufacturerData, .uuid, .listening].reduce(0) { mask, field in
            keys.order[keys.slots[field.rawValue]].reduce(mask) { $0 | 1 << UInt64($1) }
        }
        keysOfTimes = Set([LogField.time, .adapter, .adapterAddress].flatMap { fields.names[$0.rawValue] })
    }

    /// Whether the last object has a report, a beacon, or whether its adapter listens.
    var hasContent: Bool { scanner.present & contentSlots != 0 }

    /// The value of a field: of several names the first that is there and not 0, else the first that is there.
    @inline(__always) func value(_ field: LogField, _ window: [UInt8]) -> LogValue? {
        let slots = scanner.keys.slots[field.rawValue]
        var zero: LogValue?
        for index in slots {
            let slot = scanner.keys.order[index]
            guard scanner.isPresent(slot) else { continue }
            let value = scanner.values[slot]
            guard slots.count > 1, value.kind == .number,
                DecimalNumber(window.span, value.start, value.end)?.isZero == true
            else { return value }
            if zero == nil { zero = value }
        }
        return zero
    }

    /// Checks that the object in `range` of `window` says no more than that time went on for an adapter, as
    /// ``CaptureWriter/write(timeOnly:time:)`` writes it. An object with other keys belongs to another kind of log.
    func checkTimeOnly(_ window: [UInt8], _ range: Range<Int>) throws(LogProblem) {
        let keysMax = 16
        var keys: [String] = []
        var isTimeOnly = value(.time, window) != nil && value(.adapter, window) != nil
        LogScanner.forEachMember(of: window.span, in: range) { key, value in
            let name = String(decoding: key.prefix(FieldMap.nameBytesMax), as: UTF8.self)
            isTimeOnly = isTimeOnly && value.kind != .null && keysOfTimes.contains(name)
            if keys.count <= keysMax { keys.append(name) }
        }
        guard !isTimeOnly else { return }
        guard !keys.isEmpty else { throw LogProblem("it has no keys") }
        if keys.count > keysMax { keys[keysMax] = "…" }
        throw LogProblem(
            """
            it has none of data, manufacturerData, uuid and listening, but \(keys.joined(separator: ", ")); if one of these \
            has the advertisement, name it with --fields, such as --fields data=payload
            """)
    }
}
