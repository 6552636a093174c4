import BaseTypes
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
    var framing = LogFraming()
    /// The table whose rows are the objects; `nil` if the log has JSON objects.
    var table: LogTable?
    /// The line of the last damaged object.
    var damagedLine = 0
    /// The names of the columns of tables.
    private(set) lazy var columnNames = LogColumns.Names(scanner.keys)
    /// The start of the last object in the window, and its line.
    var start = 0
    var line = 0
    /// The line on which the last object ends; 0 before the first one.
    var endLine = 0
    /// The slots of the fields that make an object a record. Without them, it can only be a time
    /// (``isRowWithoutData(_:)``).
    let contentSlots: UInt64
    /// The slots of the address and the signal strength.
    private let receptionSlots: UInt64
    /// The keys of those fields, for messages.
    let contentKeys: String
    /// The keys that a record without these fields may have.
    private let keysOfTimes: Set<String>
    /// The last address of an adapter with the 17 bytes of its text.
    var lastAdapterAddress: (start: UInt64, middle: UInt64, end: UInt8, address: DeviceAddress)?

    init(fields: FieldMap) {
        scanner = LogScanner(fields)
        let keys = scanner.keys
        contentKeys = LogField.content.flatMap { fields.names[$0.rawValue] }.joined(separator: ", ")
        contentSlots = keys.mask(of: LogField.content)
        receptionSlots = keys.mask(of: [.address, .rssi])
        keysOfTimes = Set([LogField.time, .adapter, .adapterAddress].flatMap { fields.names[$0.rawValue] })
    }

    /// Whether the last object has an advertisement, a beacon, or a change of scanning.
    var hasContent: Bool { scanner.present & contentSlots != 0 }

    /// Returns the index of the protocols of a packet, if the last object is one in Wireshark's JSON. Objects in messages are
    /// not: the bytes of a packet replace its text, and other records can follow in the same object.
    func layers(_ window: [UInt8]) -> Int? {
        table == nil && scanner.object == 0 ? scanner.layers(in: window.span) : nil
    }

    /// Returns whether the last object of `window`, which has no content, is a row of an advertisement whose cells for the
    /// data are empty. Otherwise it must have only the time of an adapter.
    ///
    /// - Parameters:
    ///   - window: the bytes with the object.
    ///   - end: the end of the row.
    /// - Returns: whether it is.
    /// - Throws: an error if it has other keys.
    @inline(never) func isRowWithoutData(_ window: [UInt8], to end: Int) throws(LogProblem) -> Bool {
        let canHaveBeacon = table != nil && LogTable.hasBeaconDigits(window[start..<end])
        if let table, table.columns.hasContent, !table.hasInnerValue, scanner.present & receptionSlots != 0,
            !canHaveBeacon,
            [LogField.major, .minor].allSatisfy({ field in
                value(field, window).map { isZero($0, field, window) } ?? true
            })
        {
            return true
        }
        try checkTimeOnly(window, canHaveBeacon: canHaveBeacon)
        return false
    }

    /// Returns the value of a field. If it has several names, the first one counts that is present and not 0, otherwise
    /// the first one that is present. An empty text counts as 0, and for a number also the text of 0.
    @inline(__always) func value(_ field: LogField, _ window: [UInt8]) -> LogValue? {
        let slots = scanner.keys.slots[field.rawValue]
        var zero: LogValue?
        for index in slots {
            let slot = scanner.keys.order[index]
            guard scanner.isPresent(slot) else { continue }
            let value = scanner.value(of: slot)
            guard slots.count > 1, isZero(value, field, window) else { return value }
            if zero == nil { zero = value }
        }
        return zero
    }

    /// Whether values inside other values of the last object can be those of fields.
    var hasInner: Bool { !hasContent || scanner.keys.hasPaths }

    /// Finds values inside other values of the last object: those at paths, and those of a payload.
    ///
    /// - Returns: `false` if the elements of a payload are the records.
    mutating func openInner(_ window: inout [UInt8]) -> Bool {
        let hadContent = hasContent
        scanner.followPaths(in: 0, &window)
        guard !hadContent, let payload = scanner.payload(in: &window) else { return true }
        if !scanner.isArray(payload) {
            scanner.open(object: payload, in: &window)
        } else {
            scanner.open(array: payload, without: contentSlots)
            // A message without elements is like no message. An object with other keys belongs to another kind of log.
            return !scanner.hasElements && (hasContent || !hasOnlyKeysOfBroker(window))
        }
        return true
    }

    /// Returns whether the last object can have an advertisement in an inner object.
    func hasInnerContent(_ window: [UInt8]) -> Bool {
        scanner.keys.hasPaths || scanner.hasPayload(in: window.span)
    }

    /// Returns whether the last object has only keys that mosquitto_sub(1) writes.
    private func hasOnlyKeysOfBroker(_ window: [UInt8]) -> Bool {
        let known = ["tst", "topic", "qos", "retain", "mid", "payloadlen", "properties", "payload"]
        var isKnown = true
        scanner.forEachMember(of: 0, in: window.span) { key, _ in
            isKnown = isKnown && known.contains(String(decoding: key, as: UTF8.self))
        }
        return isKnown
    }

    /// Makes the next element of a payload the last object. Returns `false` if it is not an object.
    mutating func nextElement(_ window: inout [UInt8]) -> Bool {
        scanner.nextElement(of: &window)
    }

    /// Returns whether the text of a value that was read for `field` is in base64.
    @inline(__always) func isBase64(_ value: LogValue, _ field: LogField) -> Bool {
        scanner.keys.hasBase64 && scanner.keys.isBase64(field) { scanner.isValue(value, of: $0) }
    }

    @inline(__always) private func isZero(_ value: LogValue, _ field: LogField, _ window: [UInt8]) -> Bool {
        if value.isString {
            let length = value.end - value.start
            guard length > 0, length <= 8, field.isNumber else { return length == 0 }
        } else if !value.isNumber {
            return false
        }
        return DecimalNumber(window.span, value.start, value.end)?.isZero == true
    }

    /// Checks that the last object of `window` has only the time of an adapter, as written by
    /// ``CaptureWriter/write(timeOnly:time:)``. An object with other keys belongs to another kind of log.
    private func checkTimeOnly(_ window: [UInt8], canHaveBeacon: Bool) throws(LogProblem) {
        let keysMax = 16
        var keys: [String] = []
        var isTimeOnly =
            !canHaveBeacon && scanner.object == 0 && value(.time, window) != nil
            && (value(.adapter, window) != nil || table?.columns.hasAdapters == false)
        scanner.forEachMember(of: scanner.object, in: window.span) { key, value in
            isTimeOnly = isTimeOnly && keysOfTimes.contains(String(decoding: key, as: UTF8.self))
            guard keys.count <= keysMax else { return }
            let name = LogProblem.quoted(key[...], bytesMax: FieldMap.nameBytesMax)
            keys.append((name.isEmpty ? "\"\"" : name) + (value.isNull ? " (null)" : ""))
        }
        guard !isTimeOnly else { return }
        let holder = scanner.object == 0 ? "it" : "its payload"
        guard !keys.isEmpty else { throw LogProblem("\(holder) has no keys") }
        if keys.count > keysMax { keys[keysMax] = "…" }
        throw LogProblem(
            """
            it has none of the keys \(contentKeys); \(holder) has \(keys.joined(separator: ", ")). If the text of one of these is the \
            advertisement, name it with --fields data=KEY, or a UUID with --fields uuid=KEY; KEY can be a path such as report.data. \
            Arrays in an object are not read
            """)
    }

    /// Returns the key from which the value of a field was read in the last object.
    func key(of field: LogField) -> String? {
        scanner.keys.order[scanner.keys.slots[field.rawValue]].first(where: scanner.isPresent).map(scanner.keys.name)
    }

    /// Returns the option for a key of the last object that probably has the measured power, and is not read.
    func optionForMeasuredPower(_ window: [UInt8]) -> String? {
        option(for: .measuredPower, "the RSSI at one metre", window) { name, value in
            (name.contains("power") || name.contains("rssi") && name.contains("1m"))
                && DecimalNumber(window.span, value.start, value.end)?.rounded(in: -127 ... -1) != nil
        }
    }

    /// Returns the option for a key of the last object that probably has the time, and is not read.
    func optionForTime(_ window: [UInt8]) -> String? {
        option(for: .time, "the time", window) { name, value in
            guard name.contains("time") || name.contains("date") || name == "ts" else { return false }
            if let number = DecimalNumber(window.span, value.start, value.end) {
                return CaptureReader.instant(number.nanoseconds).map { $0.nanoseconds > Self.recent } ?? false
            }
            return value.isString && LogText.time(window.span, value.start, value.end) != nil
        }
    }

    /// 2000-01-01T00:00:00Z in nanoseconds since 1970. A smaller number can be a duration.
    private static let recent = 946_684_800_000_000_000

    /// Returns the option for a key of the last object that probably has a field with this `meaning`, and is not read.
    ///
    /// `isLikely` returns whether a key, in lower case and with only letters and digits, and its value can be the field.
    private func option(
        for field: LogField, _ meaning: String, _ window: [UInt8],
        _ isLikely: (_ name: String, _ value: LogValue) -> Bool
    ) -> String? {
        var found: String?
        for object in scanner.object == 0 ? [0] : [scanner.object, 0] {
            scanner.forEachMember(of: object, in: window.span) { key, value in
                let name = String(decoding: key, as: UTF8.self)
                guard found == nil, key.count <= FieldMap.nameBytesMax, name.allSatisfy(Self.isSafe),
                    scanner.keys.slot(of: key.span, 0..<key.count) == nil,
                    isLikely(name.lowercased().filter { $0.isLetter || $0.isNumber }, value)
                else { return }
                let option = "\(field)=\(name)"
                found = "if \(name) is \(meaning), use --fields \(name.contains(" ") ? "'\(option)'" : option)"
            }
        }
        return found
    }

    /// Returns whether a character can be in an option without quotation marks, or is a blank.
    private static func isSafe(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || "_-.@ ".contains(character)
    }
}
