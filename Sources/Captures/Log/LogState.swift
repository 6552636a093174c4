import BluetoothLE
import JSON

/// The reason why an object of an advertisement log is not a record.
struct LogProblem: Error {
    let description: String

    init(_ description: String) { self.description = description }
    init(_ field: LogField, _ words: String) { description = "\(field.name) \(words)" }

    /// Returns a text of a log for a message: at most `bytesMax` bytes, with `_` for control characters, which could
    /// look like another message.
    static func quoted(_ bytes: ArraySlice<UInt8>, bytesMax: Int) -> String {
        var first = bytes.prefix(bytesMax)
        if first.count < bytes.count {
            // Does not cut inside a character: all bytes of a character after the first have the form 10xxxxxx.
            while !first.isEmpty, bytes[first.endIndex] & 0xC0 == 0x80 { first.removeLast() }
        }
        let text = String(decoding: first.map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: "_") : $0 }, as: UTF8.self)
        return first.count < bytes.count ? text + "…" : text
    }
}

struct LogState {
    var scanner: LogScanner
    /// The slots of the fields that make an object a record. Without them, it can only be a time
    /// (``checkTimeOnly(_:)``).
    private let contentSlots: UInt64
    /// The keys of those fields, for messages.
    private let contentKeys: String
    /// The keys that a record without these fields may have.
    private let keysOfTimes: Set<String>
    /// The last address of an adapter with the 17 bytes of its text.
    var lastAdapterAddress: (start: UInt64, middle: UInt64, end: UInt8, address: DeviceAddress)?

    init(fields: FieldMap) {
        scanner = LogScanner(fields)
        let keys = scanner.keys
        contentKeys = LogField.content.flatMap { fields.names[$0.rawValue] }.joined(separator: ", ")
        contentSlots = LogField.content.reduce(0) { mask, field in
            keys.order[keys.slots[field.rawValue]].reduce(mask) { $0 | 1 << UInt64($1) }
        }
        keysOfTimes = Set([LogField.time, .adapter, .adapterAddress].flatMap { fields.names[$0.rawValue] })
    }

    /// Whether the last object has an advertisement, a beacon, or a change of scanning.
    var hasContent: Bool { scanner.present & contentSlots != 0 }

    /// Returns the value of a field. If it has several names, the first one counts that is present and not 0, otherwise
    /// the first one that is present.
    @inline(__always) func value(_ field: LogField, _ window: [UInt8]) -> LogValue? {
        let slots = scanner.keys.slots[field.rawValue]
        var zero: LogValue?
        for index in slots {
            let slot = scanner.keys.order[index]
            guard scanner.isPresent(slot) else { continue }
            let value = scanner.value(of: slot)
            guard slots.count > 1, value.isNumber,
                DecimalNumber(window.span, value.start, value.end)?.isZero == true
            else { return value }
            if zero == nil { zero = value }
        }
        return zero
    }

    /// Checks that the last object of `window` has only the time of an adapter, as written by
    /// ``CaptureWriter/write(timeOnly:time:)``. An object with other keys belongs to another kind of log.
    func checkTimeOnly(_ window: [UInt8]) throws(LogProblem) {
        let keysMax = 16
        var keys: [String] = []
        var isTimeOnly = value(.time, window) != nil && value(.adapter, window) != nil
        scanner.forEachMember(of: 0, in: window.span) { key, value in
            isTimeOnly = isTimeOnly && keysOfTimes.contains(String(decoding: key, as: UTF8.self))
            guard keys.count <= keysMax else { return }
            let name = LogProblem.quoted(key[...], bytesMax: FieldMap.nameBytesMax)
            keys.append((name.isEmpty ? "\"\"" : name) + (value.isNull ? " (null)" : ""))
        }
        guard !isTimeOnly else { return }
        guard !keys.isEmpty else { throw LogProblem("it has no keys") }
        if keys.count > keysMax { keys[keysMax] = "…" }
        throw LogProblem(
            """
            it has none of the keys \(contentKeys); it has \(keys.joined(separator: ", ")). If the text of one of these is the \
            advertisement, name it with --fields data=KEY; objects and arrays in it are not read
            """)
    }

    /// Returns the key from which the value of a field was read in the last object.
    func key(of field: LogField) -> String? {
        scanner.keys.order[scanner.keys.slots[field.rawValue]].first(where: scanner.isPresent).map(scanner.keys.name)
    }
}
