import BaseTypes
import BluetoothLE
import JSON

extension CaptureReader {
    /// Returns the record of the last object.
    @inline(__always) mutating func record() throws(LogProblem) -> CaptureRecord {
        var isEmpty = false
        if !log.hasContent {
            if let layers = log.layers(window) { return try packet(layers) }
            isEmpty = try log.isRowWithoutData(window, to: head)
        }
        let time = try time(log.value(.time, window), log.line)
        let adapter = try adapter()
        if let value = log.value(.listening, window) {
            let isListening = try listening(value)
            if !isListening, let since = log.value(.since, window) {
                let since = try self.since(since, notAfter: time)
                return CaptureRecord(
                    time: time, adapter: adapter, content: .stopped(since: since), payload: head..<head)
            }
            return CaptureRecord(
                time: time, adapter: adapter, content: .listening(isListening), payload: head..<head)
        }
        let rssi = try rssi()
        let address = try address()
        let data = log.value(.data, window)
        if let data, data.end > data.start {
            return report(try bytes(data), time, adapter, address, rssi)
        }
        if let uuid = log.value(.uuid, window) {
            let beacon = try beacon(uuid)
            let report = AdvertisingReport(address: address, rssi: rssi, properties: .legacy, data: 0..<0)
            return CaptureRecord(time: time, adapter: adapter, content: .beacon(beacon, report), payload: head..<head)
        }
        if let data = log.value(.manufacturerData, window) {
            return report(try manufacturerData(data), time, adapter, address, rssi)
        }
        // A report without AD structures.
        if data != nil || isEmpty { return report(head..<head, time, adapter, address, rssi) }
        return CaptureRecord(time: time, adapter: adapter, content: .timeOnly, payload: head..<head)
    }

    /// Returns the value of `listening`, which can also be a text.
    @inline(never) private mutating func listening(_ value: LogValue) throws(LogProblem) -> Bool {
        if let isListening = value.bool { return isListening }
        if value.isString {
            let end = text(value)
            let text = window.span.extracting(value.start..<end)
            if LogWords.is(text, "true") || LogWords.is(text, "True") || LogWords.is(text, "TRUE") { return true }
            if LogWords.is(text, "false") || LogWords.is(text, "False") || LogWords.is(text, "FALSE") { return false }
        }
        throw LogProblem(.listening, "is neither true nor false")
    }

    @inline(__always) private func report(
        _ payload: Range<Int>, _ time: Instant?, _ adapter: Int?, _ address: DeviceAddress?, _ rssi: RSSI?
    ) -> CaptureRecord {
        let report = AdvertisingReport(address: address, rssi: rssi, properties: .legacy, data: 0..<payload.count)
        return CaptureRecord(time: time, adapter: adapter, content: .report(report), payload: payload)
    }

    /// Returns the end of a string's text and replaces its escapes in place.
    @inline(__always) mutating func text(_ value: LogValue) -> Int {
        guard value.value.hasEscapes else { return value.end }
        var bytes = window.mutableSpan
        let end = JSONText.unescape(&bytes, value.start, value.end)
        // Several records can share a value.
        log.scanner.setEnd(end, ofUnescaped: value.place)
        return end
    }

    private mutating func adapter() throws(LogProblem) -> Int? {
        let address = try controllerAddress()
        guard let value = log.value(.adapter, window) else {
            return counted(address == nil ? defaultAdapter() : adapterTable.place(named: "hci0", address: address))
        }
        let end = try string(value, .adapter)
        guard end > value.start else { throw LogProblem(.adapter, "is empty") }
        return counted(adapterTable.place(of: window, value.start..<end, address))
    }

    @inline(__always) private mutating func string(_ value: LogValue, _ field: LogField) throws(LogProblem) -> Int {
        guard value.isString else { throw notText(value, field) }
        return text(value)
    }

    private func notText(_ value: LogValue, _ field: LogField) -> LogProblem {
        guard case .object = value.kind, let key = log.key(of: field) else { return LogProblem(field, "is not text") }
        return LogProblem(field, "is an object; read a text in it with --fields \(field.name)=\(key).KEY")
    }

    @inline(__always) private mutating func integer(_ field: LogField, in range: ClosedRange<Int>) throws(LogProblem)
        -> Int?
    {
        guard let value = log.value(field, window) else { return nil }
        if value.isNumber, let integer = LogText.smallInteger(window.span, value.start, value.end),
            range.contains(integer)
        {
            return integer
        }
        return try otherInteger(value, field, in: range)
    }

    /// Returns the integer of a number with decimals or an exponent, or of a text with a number; `nil` if the text is
    /// empty. Signal strengths are rounded.
    @inline(never) private mutating func otherInteger(
        _ value: LogValue, _ field: LogField, in range: ClosedRange<Int>
    ) throws(LogProblem) -> Int? {
        let end = value.isString ? text(value) : value.end
        if value.isString, end == value.start { return nil }
        guard value.isNumber || value.isString else { throw LogProblem(field, "is not a number") }
        guard let number = DecimalNumber(window.span, value.start, end) else {
            throw LogProblem(field, "is \"\(quoted(value.start, end))\", which is not a number")
        }
        if field == .rssi || field == .measuredPower {
            guard let integer = number.rounded(in: range) else { throw LogProblem(field, "is not in its range") }
            return integer
        }
        // Three decimals can be the thousands of a spreadsheet.
        if log.table != nil, end - value.start > 4, window[end - 4] == UInt8(ascii: ".") {
            throw LogProblem(
                field, "is \"\(quoted(value.start, end))\", which can be thousands; write it without a full stop")
        }
        guard let integer = number.integer(in: range) else {
            throw LogProblem(field, "is not a whole number in its range")
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

    /// Returns the address of the controller; `nil` if it is zero, which means none (rule L7).
    private mutating func controllerAddress() throws(LogProblem) -> DeviceAddress? {
        guard let value = log.value(.adapterAddress, window) else { return nil }
        let end = try string(value, .adapterAddress)
        // Most records have the same address as the record before.
        let isLong = end - value.start == 17
        if isLong, let last = log.lastAdapterAddress, last.start == load(value.start, as: UInt64.self),
            last.middle == load(value.start + 8, as: UInt64.self), last.end == window[value.start + 16]
        {
            return last.address
        }
        let (start, middle) =
            isLong ? (load(value.start, as: UInt64.self), load(value.start + 8, as: UInt64.self)) : (0, 0)
        let address = try address(value, end, .adapterAddress, .unspecified)
        guard address.value != 0 else { return nil }
        if isLong { log.lastAdapterAddress = (start, middle, window[value.start + 16], address) }
        return address
    }

    private mutating func address(
        _ value: LogValue, _ end: Int, _ field: LogField, _ kind: DeviceAddress.Kind
    ) throws(LogProblem) -> DeviceAddress {
        // Six pairs of digits, with the same separator between all pairs or with none.
        let length = end - value.start
        let step = length == 17 ? 3 : 2
        guard length == 17 || length == 12 else { throw LogProblem(field, "is not a device address") }
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
            else { throw LogProblem(field, "is not a device address") }
            number = number << 8 | UInt64(high << 4 | low)
        }
        return DeviceAddress(number, kind: kind)
    }

    private mutating func addressKind() throws(LogProblem) -> DeviceAddress.Kind {
        guard let value = log.value(.addressType, window) else { return .unspecified }
        let end = try string(value, .addressType)
        if let kind = LogWords.addressKind(window.span.extracting(value.start..<end)) { return kind }
        throw LogProblem(
            .addressType, "must be public, random, publicIdentity, randomIdentity or unresolved")
    }

    /// Returns the AD structures of `data`.
    @inline(__always) private mutating func bytes(_ value: LogValue) throws(LogProblem) -> Range<Int> {
        let isBase64 = log.isBase64(value, .data)
        let payload = try decoded(value, .data, isBase64: isBase64)
        if ManufacturerData.isAlone(window.span.extracting(payload)) {
            noteMisplaced(.data, "manufacturer data without length and type", for: .manufacturerData, isBase64)
        }
        return payload
    }

    @inline(never) private mutating func noteMisplaced(
        _ field: LogField, _ content: String, for right: LogField, _ isBase64: Bool
    ) {
        guard misplacedAdvertisement == nil else { return }
        let key = log.key(of: field) ?? field.name
        misplacedAdvertisement = CaptureDamage(
            offset: base + log.start, record: recordCount, line: log.line,
            reason: "\(key) is \(content); use --fields \(right.name)=\(key)\(isBase64 ? FieldMap.base64Suffix : "")")
    }

    /// Returns the bytes of a text of hexadecimal digits or base64, which replace the text.
    @inline(__always) private mutating func decoded(
        _ value: LogValue, _ field: LogField, isBase64: Bool
    ) throws(LogProblem) -> Range<Int> {
        let end = try string(value, field)
        if isBase64 { return try decodedBase64(value.start..<end, field) }
        let count = LogText.decodeHexadecimal(&window, value.start, end)
        if 2 * count == end - value.start { return value.start..<value.start + count }
        return try decodedSeparated(value.start..<end, count, field)
    }

    @inline(never) private mutating func decodedBase64(
        _ text: Range<Int>, _ field: LogField
    ) throws(LogProblem) -> Range<Int> {
        let quoted = quoted(text.lowerBound, text.upperBound)
        if misplacedAdvertisement == nil { checkHexadecimal(window[text], field) }
        guard let end = LogText.decodeBase64(&window, text.lowerBound, text.upperBound) else {
            throw LogProblem(field, "is \"\(quoted)\", which is not base64")
        }
        return text.lowerBound..<end
    }

    /// Notes a text of hexadecimal digits that is read as base64, if it is an advertisement.
    private mutating func checkHexadecimal(_ text: ArraySlice<UInt8>, _ field: LogField) {
        guard text.count >= 2 * ManufacturerData.beaconBytes, text.allSatisfy({ LogText.nibble($0) <= 0xF }) else {
            return
        }
        var bytes = Array(text)
        let count = LogText.decodeHexadecimal(&bytes, 0, bytes.count)
        let content = bytes.span.extracting(0..<count)
        if ManufacturerData.isAlone(content) {
            noteMisplaced(field, "hexadecimal", for: .manufacturerData, false)
        } else if ManufacturerData.isStructures(content) {
            noteMisplaced(field, "hexadecimal", for: .data, false)
        }
    }

    /// Returns the bytes of a text whose first bytes are hexadecimal digits and were decoded.
    @inline(never) private mutating func decodedSeparated(
        _ text: Range<Int>, _ decoded: Int, _ field: LogField
    ) throws(LogProblem) -> Range<Int> {
        let rest = window[(text.lowerBound + 2 * decoded)..<text.upperBound]
        guard !rest.allSatisfy({ LogText.nibble($0) <= 0xF }) else {
            throw LogProblem(field, "has an odd number of digits")
        }
        if decoded == 0, let advice = base64Advice(text, field) { throw LogProblem(field, advice) }
        if text.count == 10, decoded < 3 {
            // The first digits were replaced by their bytes.
            let digits = window[text.lowerBound..<text.lowerBound + decoded].flatMap {
                [$0 >> 4 + 0x30, $0 & 0xF + 0x30]
            }
            guard !LogText.isDateWithSeparators((digits + rest)[...]) else {
                throw LogProblem(
                    field, "is a date; name the key with the advertisement with --fields \(field.name)=KEY")
            }
        }
        guard
            let end = LogText.decodeSeparatedHexadecimal(&window, text.lowerBound, text.upperBound, decoded: decoded)
        else { throw LogProblem(field, "has a character that is not a hexadecimal digit") }
        return text.lowerBound..<end
    }

    /// Returns the option that reads a text which is not hexadecimal, if it is base64.
    private func base64Advice(_ text: Range<Int>, _ field: LogField) -> String? {
        var bytes = Array(window[text])
        // Hexadecimal digits can have blanks, separators and a prefix.
        guard !bytes.starts(with: "0x".utf8), !bytes.contains(UInt8(ascii: " ")), !bytes.contains(UInt8(ascii: ".")),
            !bytes.contains(UInt8(ascii: ":")),
            let end = LogText.decodeBase64(&bytes, 0, bytes.count), end > 0
        else { return nil }
        let content = bytes.span.extracting(0..<end)
        let isManufacturerData = ManufacturerData.isAlone(content) || ManufacturerData.isBeaconWithoutCompany(content)
        let right =
            isManufacturerData ? .manufacturerData : ManufacturerData.isStructures(content) ? .data : field
        return """
            has a character that is not a hexadecimal digit; if it is base64, use --fields \
            \(right.name)=\(log.key(of: field) ?? field.name)\(FieldMap.base64Suffix)
            """
    }

    /// Returns the AD structures for manufacturer data, which replace the text: one for a string, and one for each
    /// company of an object such as `{"76": "0215…"}`.
    private mutating func manufacturerData(_ value: LogValue) throws(LogProblem) -> Range<Int> {
        let isBase64 = log.isBase64(value, .manufacturerData)
        guard value.kind == .object else {
            let payload = try decoded(value, .manufacturerData, isBase64: isBase64)
            guard !payload.isEmpty else { return payload }
            if ManufacturerData.isStructures(window.span.extracting(payload)) {
                noteMisplaced(.manufacturerData, "AD structures, each with length and type", for: .data, isBase64)
            } else if ManufacturerData.isBeaconWithSwappedCompany(window.span.extracting(payload)) {
                window.swapAt(payload.lowerBound, payload.lowerBound + 1)
            }
            let hasCompany = !ManufacturerData.isBeaconWithoutCompany(window.span.extracting(payload))
            let company = hasCompany ? nil : ManufacturerData.apple
            let end = try ManufacturerData.write(payload, of: company, to: payload.lowerBound, in: &window)
            return payload.lowerBound..<end
        }
        var companies: [(UInt16?, LogValue)] = []
        log.scanner.forEachMember(of: value.place, in: window.span) { key, value in
            companies.append((ManufacturerData.company(key), value))
        }
        // Each structure is shorter than its text, so it never reaches the next text.
        var end = value.start
        for (company, data) in companies {
            guard let company else {
                throw LogProblem(.manufacturerData, "has a key that is not a company identifier such as 76 or 0x004C")
            }
            let bytes = try decoded(data, .manufacturerData, isBase64: isBase64)
            // Some logs repeat the identifier in the data.
            let isRepeated =
                company == ManufacturerData.apple && ManufacturerData.isBeacon(window.span.extracting(bytes))
            end = try ManufacturerData.write(bytes, of: isRepeated ? nil : company, to: end, in: &window)
        }
        return value.start..<end
    }

    private mutating func beacon(_ value: LogValue) throws(LogProblem) -> IBeacon {
        let end = try string(value, .uuid)
        guard let uuid = ProximityUUID(utf8: window.span.extracting(value.start..<end)) else {
            throw LogProblem(.uuid, "is not a UUID")
        }
        guard let major = try integer(.major, in: 0...0xFFFF) else {
            throw LogProblem(.major, "is absent")
        }
        guard let minor = try integer(.minor, in: 0...0xFFFF) else {
            throw LogProblem(.minor, "is absent")
        }
        let power = try integer(.measuredPower, in: -128...127)
        if power == nil, missedPowers < Self.missedPowersMax { noteMissingPower() }
        return IBeacon(
            identity: BeaconIdentity(uuid: uuid, major: UInt16(major), minor: UInt16(minor)),
            measuredPower: power.map { Int8($0) })
    }

    /// The number of beacons without measured power in which another key is looked for.
    private static var missedPowersMax: Int { 16 }

    /// Notes a beacon without measured power, if another key can have it.
    @inline(never) private mutating func noteMissingPower() {
        missedPowers += 1
        guard let option = log.optionForMeasuredPower(window) else { return }
        missedPowers = Self.missedPowersMax
        unreadMeasuredPower = CaptureDamage(
            offset: base + log.start, record: recordCount, line: log.line, reason: "measuredPower is absent; \(option)")
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
}

// The times of an advertisement log's objects.
extension CaptureReader {
    /// Returns the time of the object at `line`, which is `value`.
    @inline(__always) mutating func time(_ value: LogValue?, _ line: Int) throws(LogProblem) -> Instant? {
        guard let value else {
            if timesAreOptional { return nil }
            guard timesAreKnown else {
                noteMissingTime()
                return nil
            }
            guard hasTimes else { return nil }
            throw LogProblem(.time, "is absent")
        }
        guard !timesAreKnown || hasTimes || timesAreOptional else {
            throw LogProblem(.time, "is present, but was absent before")
        }
        return try time(of: value, .time, line: line, notAfter: nil)
    }

    /// Notes that the first record has no time, if another key can have it.
    @inline(never) private mutating func noteMissingTime() {
        guard unreadTime == nil, let option = log.optionForTime(window) else { return }
        unreadTime = CaptureDamage(
            offset: base + log.start, record: recordCount, line: log.line, reason: "time is absent; \(option)")
    }

    /// Returns the time since which the adapter had not scanned, for an object with the time `notAfter`.
    mutating func since(_ value: LogValue, notAfter: Instant?) throws(LogProblem) -> Instant {
        try time(of: value, .since, line: nil, notAfter: notAfter)
    }

    @inline(__always) private mutating func time(
        of value: LogValue, _ field: LogField, line: Int?, notAfter: Instant?
    ) throws(LogProblem) -> Instant {
        switch value.kind {
        case .number: return try time(ofNumber: value.start..<value.end, field, line: line)
        case .string: return try time(ofText: value, field, line: line, notAfter: notAfter)
        default: throw LogProblem(field, "is neither text nor a number")
        }
    }

    @inline(__always) private mutating func time(
        ofNumber text: Range<Int>, _ field: LogField, line: Int?
    ) throws(LogProblem) -> Instant {
        guard let number = DecimalNumber(window.span, text.lowerBound, text.upperBound) else {
            throw LogProblem(field, "is not a number")
        }
        guard let instant = Self.instant(number.nanoseconds) else {
            throw LogProblem(
                field,
                """
                is \(quoted(text.lowerBound, text.upperBound)), in \(number.timeUnit) \(Self.date(of: number.nanoseconds)); \
                must be within 1970…2100
                """)
        }
        if let line, localTimes.zone != nil {
            localTimes.follow(Int(instant.nanoseconds / 1_000_000_000), isLocal: false, line: line)
        }
        return instant
    }

    @inline(__always) private mutating func time(
        ofText value: LogValue, _ field: LogField, line: Int?, notAfter: Instant?
    ) throws(LogProblem) -> Instant {
        let end = text(value)
        guard let time = LogText.time(window.span, value.start, end) else {
            if !LogText.isDate(window.span, value.start, end),
                let number = DecimalNumber(window.span, value.start, end)
            {
                guard log.table == nil || !number.isCoarseTime else {
                    throw LogProblem(field, "is \"\(quoted(value.start, end))\", which has lost its last digits")
                }
                return try self.time(ofNumber: value.start..<end, field, line: line)
            }
            throw LogProblem(
                field,
                "is \"\(quoted(value.start, end))\"; must be a time such as 2026-11-21T07:46:27.123456Z (RFC 3339)")
        }
        var seconds = time.seconds
        if time.isLocal { seconds = try placed(seconds, value.start, end, field, notAfter) }
        guard let instant = Self.instant(seconds: seconds, nanoseconds: time.nanoseconds) else {
            throw LogProblem(field, "is \"\(quoted(value.start, end))\"; must be within 1970…2100")
        }
        if let line, localTimes.zone != nil { localTimes.follow(seconds, isLocal: time.isLocal, line: line) }
        return instant
    }

    /// Returns the instant of the local time in `start..<end`; both in seconds since 1970.
    private mutating func placed(
        _ local: Int, _ start: Int, _ end: Int, _ field: LogField, _ notAfter: Instant?
    ) throws(LogProblem) -> Int {
        guard let zone = localTimes.zone else {
            throw LogProblem(
                field, "is \"\(quoted(start, end))\", without an offset; name its zone with --zone, or append Z")
        }
        let latest = notAfter.map { Int($0.nanoseconds / 1_000_000_000) }
        guard let instant = localTimes.instant(of: local, notAfter: latest) else {
            throw LogProblem(
                field,
                "is \"\(quoted(start, end))\", which does not exist in \(zone.name): the clocks went forward at this time"
            )
        }
        return instant
    }

    /// Returns the text between two places for a message, on one line: at most 40 bytes.
    private func quoted(_ start: Int, _ end: Int) -> String { LogProblem.quoted(window[start..<end], bytesMax: 40) }
}
