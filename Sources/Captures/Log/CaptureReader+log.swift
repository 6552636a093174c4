import BluetoothLE
import JSON

/// Why an object of an advertisement log is no record.
struct LogProblem: Error {
    var field: LogField?
    var words: StaticString

    var description: String { field.map { "\($0.name) \(words)" } ?? "\(words)" }
}

struct LogState {
    var scanner: LogScanner

    init(fields: FieldMap) { scanner = LogScanner(fields) }

    /// The value of a field: of several names the first that is there and not 0, else the first that is there.
    @inline(__always) mutating func value(_ field: LogField, _ window: [UInt8]) -> LogValue? {
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
}

extension CaptureReader {
    mutating func nextObject() throws(CaptureError) -> CaptureRecord? {
        while true {
            guard try skipBlanks() else {
                hasEnded = true
                return nil
            }
            guard window[head] == UInt8(ascii: "{") else {
                damages.note(offset: base + head, record: recordCount + 1, "an object is expected")
                try resynchronise(from: head)
                continue
            }
            guard let problem = try objectAtHead() else { continue }
            recordCount += 1
            var start = head
            swap(&head, &start)
            head = problem
            do {
                return try record()
            } catch {
                damages.note(offset: base + start, record: recordCount, error.description)
            }
        }
    }

    /// Scans the object at the head; its end, or `nil` where it is damaged and was passed over.
    private mutating func objectAtHead() throws(CaptureError) -> Int? {
        while true {
            switch log.scanner.scan(window, head..<tail) {
            case .complete(let end): return end
            case .malformed(let place, let reason):
                damages.note(offset: base + place, record: recordCount + 1, "\(reason)")
                recordCount += 1
                try resynchronise(from: place)
                return nil
            case .needsMore:
                guard tail - head < Self.recordBytesMax else {
                    damages.note(offset: base + head, record: recordCount + 1, "it is longer than 1 MiB")
                    recordCount += 1
                    try resynchronise(from: tail)
                    return nil
                }
                guard try refill(tail - head + 1) else {
                    if source.problem == nil {
                        damages.note(offset: base + head, record: recordCount + 1, "it is cut off")
                    }
                    recordCount += 1
                    head = tail
                    return nil
                }
            }
        }
    }

    @inline(__always) private mutating func skipBlanks() throws(CaptureError) -> Bool {
        while true {
            while head < tail, LogScanner.isBlank(window[head]) { head += 1 }
            if head < tail { return true }
            guard try refill(1) else { return false }
        }
    }

    /// Goes on from `place`, where something is wrong, to the next brace that begins a line or follows an object.
    private mutating func resynchronise(from place: Int) throws(CaptureError) {
        // What stands before it, blanks aside.
        var before = UInt8(ascii: " ")
        var index = place - 1
        while index >= head, before == UInt8(ascii: " ") || before == 0x09 {
            before = window[index]
            index -= 1
        }
        var mayBegin = place > head && (before == 0x0A || before == UInt8(ascii: "}"))
        head = place
        while true {
            while head < tail {
                let byte = window[head]
                if byte == UInt8(ascii: "{"), mayBegin { return }
                if byte == 0x0A || byte == UInt8(ascii: "}") {
                    mayBegin = true
                } else if !LogScanner.isBlank(byte) {
                    mayBegin = false
                }
                head += 1
            }
            guard try refill(1) else { return }
        }
    }

    private mutating func record() throws(LogProblem) -> CaptureRecord {
        let time = try time()
        let adapter = try adapter()
        if let value = log.value(.listening, window) {
            guard value.kind == .isTrue || value.kind == .isFalse else {
                throw LogProblem(field: .listening, words: "is neither true nor false")
            }
            if value.kind == .isFalse, let since = log.value(.since, window) {
                return CaptureRecord(
                    time: time, adapter: adapter, content: .stopped(since: try self.time(of: since, .since)),
                    payload: head..<head)
            }
            return CaptureRecord(
                time: time, adapter: adapter, content: .listening(value.kind == .isTrue), payload: head..<head)
        }
        let rssi = try rssi()
        let address = try address()
        if let data = log.value(.data, window) {
            let payload = try bytes(data)
            let report = AdvertisingReport(
                address: address, rssi: rssi, properties: .legacy, data: 0..<payload.count)
            return CaptureRecord(time: time, adapter: adapter, content: .report(report), payload: payload)
        }
        if let uuid = log.value(.uuid, window) {
            let beacon = try beacon(uuid)
            let report = AdvertisingReport(address: address, rssi: rssi, properties: .legacy, data: 0..<0)
            return CaptureRecord(time: time, adapter: adapter, content: .beacon(beacon, report), payload: head..<head)
        }
        guard address == nil, rssi == nil else { throw LogProblem(words: "it names neither data nor a uuid") }
        guard time != nil else { throw LogProblem(words: "it has neither a time nor data nor a uuid") }
        return CaptureRecord(time: time, adapter: adapter, content: .timeOnly, payload: head..<head)
    }

    private mutating func time() throws(LogProblem) -> Instant? {
        guard let value = log.value(.time, window) else {
            guard timesAreKnown && hasTimes else { return nil }
            throw LogProblem(field: .time, words: "is absent")
        }
        guard !timesAreKnown || hasTimes else {
            throw LogProblem(field: .time, words: "is there, and was not before")
        }
        return try self.time(of: value, .time)
    }

    private mutating func time(of value: LogValue, _ field: LogField) throws(LogProblem) -> Instant {
        switch value.kind {
        case .number:
            guard let number = DecimalNumber(window.span, value.start, value.end) else {
                throw LogProblem(field: field, words: "is no number")
            }
            return instant(number.nanoseconds)
        case .string, .escapedString:
            let end = text(value)
            guard let nanoseconds = LogText.time(window.span, value.start, end) else {
                throw LogProblem(
                    field: field, words: "is no time with an offset such as 2026-11-21T07:46:27.123456Z (RFC 3339)")
            }
            return instant(nanoseconds)
        default: throw LogProblem(field: field, words: "is neither text nor a number")
        }
    }

    /// The end of a string's text, its escapes replaced in place.
    @inline(__always) private mutating func text(_ value: LogValue) -> Int {
        guard value.kind == .escapedString else { return value.end }
        var bytes = window.mutableSpan
        return LogText.unescape(&bytes, value.start, value.end)
    }

    private mutating func adapter() throws(LogProblem) -> Int? {
        let address = try controllerAddress()
        guard let value = log.value(.adapter, window) else {
            return counted(address == nil ? defaultAdapter() : adapterTable.place(named: "hci0", address: address))
        }
        let end = try string(value, .adapter)
        guard end > value.start else { throw LogProblem(field: .adapter, words: "is empty") }
        return counted(adapterTable.place(of: window, value.start..<end, address))
    }

    @inline(__always) private mutating func string(_ value: LogValue, _ field: LogField) throws(LogProblem) -> Int {
        guard value.kind == .string || value.kind == .escapedString else {
            throw LogProblem(field: field, words: "is no text")
        }
        return text(value)
    }

    @inline(__always) private mutating func integer(_ field: LogField, in range: ClosedRange<Int>) throws(LogProblem)
        -> Int?
    {
        guard let value = log.value(field, window) else { return nil }
        guard value.kind == .number, let number = DecimalNumber(window.span, value.start, value.end) else {
            throw LogProblem(field: field, words: "is no number")
        }
        guard let integer = number.integer(in: range) else {
            throw LogProblem(field: field, words: "is no whole number of its range")
        }
        return integer
    }

    private mutating func rssi() throws(LogProblem) -> RSSI? {
        guard let value = try integer(.rssi, in: -128...127), value != 127 else { return nil }
        return RSSI(dBm: Int8(value))
    }

    private mutating func address() throws(LogProblem) -> DeviceAddress? {
        guard let value = log.value(.address, window) else { return nil }
        let end = try string(value, .address)
        return try address(value, end, .address, try addressKind())
    }

    /// The controller's address; `nil` where it is zero, which is none (rule L7).
    private mutating func controllerAddress() throws(LogProblem) -> DeviceAddress? {
        guard let value = log.value(.adapterAddress, window) else { return nil }
        let end = try string(value, .adapterAddress)
        let address = try address(value, end, .adapterAddress, .unspecified)
        return address.value == 0 ? nil : address
    }

    private mutating func address(
        _ value: LogValue, _ end: Int, _ field: LogField, _ kind: DeviceAddress.Kind
    ) throws(LogProblem) -> DeviceAddress {
        // Six pairs of digits, with one separator between each two or none at all.
        let length = end - value.start
        let step = length == 17 ? 3 : 2
        guard length == 17 || length == 12 else { throw LogProblem(field: field, words: "is no device address") }
        let separator = window[value.start + 2]
        var number: UInt64 = 0
        for pair in 0..<6 {
            let place = value.start + pair * step
            let high = LogText.nibble(window[place])
            let low = LogText.nibble(window[place + 1])
            guard high <= 0xF, low <= 0xF,
                step == 2 || pair == 5
                    || window[place + 2] == separator
                        && (separator == UInt8(ascii: ":") || separator == UInt8(ascii: "-"))
            else { throw LogProblem(field: field, words: "is no device address") }
            number = number << 8 | UInt64(high << 4 | low)
        }
        return DeviceAddress(number, kind: kind)
    }

    private mutating func addressKind() throws(LogProblem) -> DeviceAddress.Kind {
        guard let value = log.value(.addressType, window) else { return .unspecified }
        let end = try string(value, .addressType)
        if let kind = LogWords.addressKind(window.span.extracting(value.start..<end)) { return kind }
        throw LogProblem(
            field: .addressType, words: "is none of public, random, publicIdentity, randomIdentity, unresolved")
    }

    /// The octets that a string of hexadecimal digits spells, put where the digits stood.
    private mutating func bytes(_ value: LogValue) throws(LogProblem) -> Range<Int> {
        let end = try string(value, .data)
        guard (end - value.start) % 2 == 0 else { throw LogProblem(field: .data, words: "has half an octet") }
        guard LogText.decodeHexadecimal(&window, value.start, end) else {
            throw LogProblem(field: .data, words: "has what is no hexadecimal digit")
        }
        return value.start..<value.start + (end - value.start) / 2
    }

    private mutating func beacon(_ value: LogValue) throws(LogProblem) -> IBeacon {
        let end = try string(value, .uuid)
        guard let uuid = LogWords.uuid(window.span.extracting(value.start..<end)) else {
            throw LogProblem(field: .uuid, words: "is no UUID")
        }
        guard let major = try integer(.major, in: 0...0xFFFF) else {
            throw LogProblem(field: .major, words: "is absent")
        }
        guard let minor = try integer(.minor, in: 0...0xFFFF) else {
            throw LogProblem(field: .minor, words: "is absent")
        }
        guard let power = try integer(.measuredPower, in: -128...127) else {
            throw LogProblem(field: .measuredPower, words: "is absent")
        }
        return IBeacon(
            identity: BeaconIdentity(uuid: uuid, major: UInt16(major), minor: UInt16(minor)),
            measuredPower: Int8(power))
    }
}

/// The words of the advertisement log.
enum LogWords {
    static func addressKind(_ text: Span<UInt8>) -> DeviceAddress.Kind? {
        for kind in DeviceAddress.Kind.allCases where `is`(text, kind.word ?? "unspecified") { return kind }
        return nil
    }

    static func `is`(_ text: Span<UInt8>, _ word: StaticString) -> Bool {
        guard text.count == word.utf8CodeUnitCount else { return false }
        for index in 0..<text.count where unsafe text[index] != word.utf8Start[index] { return false }
        return true
    }

    /// The UUID that 32 digits spell, with or without its hyphens.
    static func uuid(_ text: Span<UInt8>) -> ProximityUUID? {
        let hasHyphens = text.count == 36
        guard hasHyphens || text.count == 32 else { return nil }
        var high: UInt64 = 0
        var low: UInt64 = 0
        var place = 0
        for digit in 0..<32 {
            if hasHyphens, digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                guard text[place] == UInt8(ascii: "-") else { return nil }
                place += 1
            }
            let nibble = LogText.nibble(text[place])
            guard nibble <= 0xF else { return nil }
            if digit < 16 { high = high << 4 | UInt64(nibble) } else { low = low << 4 | UInt64(nibble) }
            place += 1
        }
        return ProximityUUID(high: high, low: low)
    }
}
