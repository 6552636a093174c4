import BeaconMonitoring
import JSON

/// Erases a beacon from lines. Each line keeps its place and length, so that all later bytes stay where they are.
///
/// All lines must be processed three times, in the order of the files. ``learn(_:_:)`` collects the device addresses of
/// the beacon. ``Stage/others`` removes these addresses from lines that do not name the beacon: the exits of
/// conditions. ``Stage/named`` erases everything that names it. If the process is interrupted in between, the next run
/// finds the addresses again.
struct LineErasure: Sendable {
    /// The current stage.
    enum Stage: Sendable { case others, named }

    private static let space = UInt8(ascii: " ")
    // Evidence follows its event and the visit that the event ended, so few numbers are needed.
    private static let numbersMax = 8

    let request: ErasureRequest
    var stage = Stage.named
    /// The corrections of dates by `clock` lines.
    var stamping = Restamping()
    private(set) var counts = ErasureCounts()
    /// The device addresses of the beacon, as written in lines.
    private(set) var addresses: Set<String> = []

    private let name: BeaconText
    private var parser = LineParser()
    // The numbers of the last erased lines, and of the last lines from which an address was removed.
    private var erased: [Int] = []
    private var cleared: [Int] = []
    // Whether data before the current line must be erased. Damaged data have no date of their own.
    private var coversPlace = true

    init(_ request: ErasureRequest) {
        self.request = request
        name = BeaconText(request.beacon)
    }

    // MARK: Input

    /// Searches the bytes between two line ends for an address of the beacon.
    mutating func learn(_ buffer: [UInt8], _ range: Range<Int>) {
        guard name.canOccur(in: buffer.span.extracting(range)) else { return }
        _ = take(buffer, range)
        guard parser.parse(), covers(), isNamed else { return }
        let text = parser.text
        guard text.beacon(text.find("refinement", in: parser.payload)) == request.beacon || isOfItsCondition,
            let address = addressPlace.flatMap({ text.string($0) })
        else { return }
        addresses.insert(address)
    }

    /// Erases the beacon from the bytes between two line ends, or after the last one.
    ///
    /// - Returns: whether anything changed.
    mutating func erase(_ buffer: inout [UInt8], _ range: Range<Int>) -> Bool {
        guard isWorthALook(buffer.span.extracting(range)) else { return false }
        let begin = take(buffer, range)
        guard parser.parse() else { return blank(&buffer, range) }
        let line = begin + parser.passedOver..<range.upperBound
        var isDifferent = blank(&buffer, range.lowerBound..<line.lowerBound)
        coversPlace = covers()
        let before = parser.text.bytes
        eraseLine()
        guard parser.text.bytes != before else { return isDifferent }
        buffer.replaceSubrange(line, with: parser.text.bytes)
        isDifferent = true
        return isDifferent
    }

    /// Overwrites damaged data that name the beacon with spaces.
    mutating func blank(_ buffer: inout [UInt8], _ range: Range<Int>) -> Bool {
        guard stage == .named, coversPlace, name.occurs(in: buffer.span.extracting(range)) else { return false }
        // Zeros remain, because recovery uses them to detect a power failure.
        for index in range where buffer[index] != 0 { buffer[index] = Self.space }
        counts.damaged += 1
        return true
    }

    private func isWorthALook(_ bytes: Span<UInt8>) -> Bool {
        if name.canOccur(in: bytes) { return true }
        func holds(_ word: String) -> Bool { bytes.first(of: Array(word.utf8), from: 0) != nil }
        if stage == .others, !addresses.isEmpty, holds("\"address\":\"") { return true }
        // Lines that an earlier attempt erased also count.
        if holds("\"type\":\"erased\"") { return true }
        if !erased.isEmpty || !cleared.isEmpty, holds("\"type\":\"evidence\"") { return true }
        // The date of this line decides about damaged data after it.
        return request.before != nil
    }

    /// Copies bytes to the parser, without those up to the last zero byte, which a damaged sector has left.
    ///
    /// - Returns: the index of the first copied byte.
    private mutating func take(_ buffer: [UInt8], _ range: Range<Int>) -> Int {
        let begin = buffer[range].lastIndex(of: 0).map { $0 + 1 } ?? range.lowerBound
        parser.text.bytes.removeAll(keepingCapacity: true)
        parser.text.bytes.append(contentsOf: buffer[begin..<range.upperBound])
        return begin
    }

    // MARK: The beacon of a line

    private func covers() -> Bool {
        request.covers(
            stamping.date(
                parser.head.date, printedWith: parser.head.offset, machine: String(BootID.machine(of: parser.boot))))
    }

    /// Whether the line contains the beacon, in any place and form.
    private var isNamed: Bool {
        let text = parser.text
        if name.occurs(in: text.bytes.span) { return true }
        return text.all.indices.contains { text.all[$0].kind == .object && text.beacon($0) == request.beacon }
    }

    /// Whether the line is of a condition that matches exactly the beacon.
    private var isOfItsCondition: Bool {
        parser.text.condition(parser.text.find("condition", in: parser.payload)).map { request.isExactly($0) } ?? false
    }

    /// Whether the line is only about the beacon.
    private var isItsOwn: Bool {
        let text = parser.text
        if isOfItsCondition { return true }
        return text.isText("beacon", at: text.find("scope", in: parser.payload))
            && text.beacon(text.find("refinement", in: parser.payload)) == request.beacon
    }

    private func isOf(_ type: StaticString) -> Bool {
        parser.text.isText(type, at: parser.text.find("type", in: parser.payload))
    }

    private var addressPlace: Int? {
        parser.text.find("sighting", in: parser.payload).flatMap { parser.text.find("address", in: $0) }
    }

    // MARK: Changes of a line

    private mutating func eraseLine() {
        if isOf("erased") { return note(parser.head.sequence, in: \.erased) }
        if isOf("evidence"), let event = parser.text.integer(parser.text.find("event", in: parser.payload)) {
            if stage == .named, erased.contains(event) { return eraseWhole() }
            if stage == .others, cleared.contains(event) { return clearEvidence() }
        }
        guard coversPlace else { return }
        switch stage {
        case .others:
            guard !isNamed, let place = addressPlace, let address = parser.text.string(place),
                addresses.contains(address)
            else { return }
            remove(member: place)
            note(parser.head.sequence, in: \.cleared)
            counts.cleared += 1
        case .named:
            guard isNamed else { return }
            if isItsOwn { return eraseWhole() }
            let whole = parser.text.bytes
            clearNames()
            // A place that no line of this version has.
            guard parser.text.parse(), !isNamed else {
                parser.text.bytes = whole
                _ = parser.parse()
                return eraseWhole()
            }
            counts.cleared += 1
        }
    }

    private mutating func note(_ number: Int?, in list: WritableKeyPath<Self, [Int]>) {
        guard let number else { return }
        self[keyPath: list].append(number)
        if self[keyPath: list].count > Self.numbersMax { self[keyPath: list].removeFirst() }
    }

    /// Removes the beacon from the line of a condition: as the beacon that satisfied it, and from the list of beacons
    /// in range.
    private mutating func clearNames() {
        let text = parser.text
        if let place = text.find("refinement", in: parser.payload), text.beacon(place) == request.beacon {
            remove(member: place)
            if let address = addressPlace { remove(member: address) }
        }
        for place in text.elements(of: text.find("beacons", in: parser.payload))
        where text.beacon(place) == request.beacon {
            let bytes = text.bytes(of: place)
            remove(bytes.startIndex..<bytes.endIndex)
        }
    }

    /// Removes the sightings from the evidence of a condition's exit, because they are sightings of the beacon.
    private mutating func clearEvidence() {
        let text = parser.text
        for place in text.elements(of: text.find("sightings", in: parser.payload)) {
            let bytes = text.bytes(of: place)
            remove(bytes.startIndex..<bytes.endIndex)
        }
        guard let gaps = text.find("gaps", in: parser.payload) else { return }
        let range = text.range(of: gaps)
        var buffer = LineBuffer(capacity: 16)
        buffer.object { $0.write("count", 0) }
        let none = buffer.bytes
        guard range.count >= none.count else { return }
        blank(range)
        parser.text.bytes.replaceSubrange(range.lowerBound..<range.lowerBound + none.count, with: none)
        counts.cleared += 1
    }

    /// Leaves only the envelope, the number and the times of a line.
    private mutating func eraseWhole() {
        let text = parser.text
        let (payload, stem) = (parser.payload, topicStem)
        func copy(_ key: StaticString, of object: Int, into buffer: inout LineBuffer) {
            guard let place = text.find(key, in: object) else { return }
            buffer.key(key)
            buffer.append(Array(text.bytes(of: place)))
        }
        func writePayload(_ buffer: inout LineBuffer) {
            copy("version", of: payload, into: &buffer)
            buffer.write("type", word: "erased")
            for key: StaticString in ["gateway", "boot", "sequence", "date", "time", "monotonic"] {
                copy(key, of: payload, into: &buffer)
            }
        }
        var buffer = LineBuffer(capacity: text.bytes.count)
        buffer.object { buffer in
            guard payload != 0 else { return writePayload(&buffer) }
            if text.find("topic", in: 0) != nil {
                buffer.key("topic")
                // As in the line, with its escapes.
                buffer.quoted { $0.append(stem + Array("erased".utf8)) }
            }
            for key: StaticString in ["qos", "retain"] { copy(key, of: 0, into: &buffer) }
            buffer.object("payload") { writePayload(&$0) }
        }
        var line = buffer.bytes
        let room = text.bytes.count - line.count
        // A beacon needs more room than the two letters by which this type can be longer. A forged line need not
        // contain one.
        guard room >= 0 else {
            for index in parser.text.bytes.indices { parser.text.bytes[index] = Self.space }
            counts.damaged += 1
            return
        }
        line.insert(contentsOf: repeatElement(Self.space, count: room), at: line.count - (payload != 0 ? 2 : 1))
        parser.text.bytes = line
        note(parser.head.sequence, in: \.erased)
        counts.erased += 1
    }

    /// The start of all topics of the gateway, as far as the topic of the line shows it.
    private var topicStem: [UInt8] {
        let text = parser.text
        guard let topic = text.find("topic", in: 0), let gateway = text.find("gateway", in: parser.payload),
            let type = text.find("type", in: parser.payload)
        else { return [] }
        func inner(_ place: Int) -> [UInt8] { Array(text.bytes(of: place).dropFirst().dropLast()) }
        let (bytes, name) = (inner(topic), inner(gateway) + [UInt8(ascii: "/")])
        guard let place = bytes.span.first(of: name + inner(type), from: 0) else { return [] }
        return bytes[..<place] + name
    }

    // MARK: Bytes

    private mutating func blank(_ range: Range<Int>) {
        for index in range { parser.text.bytes[index] = Self.space }
    }

    /// Removes a member from its object: key, value and a comma.
    private mutating func remove(member value: Int) {
        let (key, bytes) = (parser.text.bytes(of: value - 1), parser.text.bytes(of: value))
        remove(key.startIndex..<bytes.endIndex)
    }

    private mutating func remove(_ range: Range<Int>) {
        blank(range)
        let comma = UInt8(ascii: ",")
        func isSpace(_ byte: UInt8) -> Bool { byte == Self.space || (0x09...0x0D).contains(byte) }
        let before = parser.text.bytes[..<range.lowerBound].lastIndex { !isSpace($0) }
        let after = parser.text.bytes[range.upperBound...].firstIndex { !isSpace($0) }
        if let before, parser.text.bytes[before] == comma {
            parser.text.bytes[before] = Self.space
        } else if let after, parser.text.bytes[after] == comma {
            parser.text.bytes[after] = Self.space
        }
    }
}
