import BeaconMonitoring
import JSON

/// Takes a beacon out of lines, each in its place and at its length, so that no octet behind it moves.
///
/// Lines go through it in the order of the files, three times. ``learn(_:_:)`` finds out under which device addresses the
/// beacon was heard. In the stage ``Stage/others`` these addresses are taken out of lines that do not name it: the exits
/// of conditions. In the stage ``Stage/named`` everything goes that names it. Whoever is interrupted between the two finds
/// the addresses again.
struct LineErasure: Sendable {
    /// What is done at present.
    enum Stage: Sendable { case others, named }

    private static let space = UInt8(ascii: " ")
    // Evidence stands behind its event and the visit that it ended.
    private static let numbersMax = 8

    let request: ErasureRequest
    var stage = Stage.named
    /// What `clock` lines say of dates.
    var stamping = Restamping()
    private(set) var counts = ErasureCounts()
    /// The device addresses under which the beacon was heard, as lines spell them.
    private(set) var addresses: Set<String> = []

    private let name: BeaconText
    private var parser = LineParser()
    // The numbers of the last lines that were erased, and of those out of which an address was taken.
    private var erased: [Int] = []
    private var cleared: [Int] = []
    // Whether what was before the present line is to be forgotten: what is damaged there has no date of its own.
    private var coversPlace = true

    init(_ request: ErasureRequest) {
        self.request = request
        name = BeaconText(request.beacon)
    }

    // MARK: What it is shown

    /// Looks at the octets between two line ends for an address of the beacon.
    mutating func learn(_ buffer: [UInt8], _ range: Range<Int>) {
        guard name.mayStand(in: buffer.span.extracting(range)) else { return }
        _ = take(buffer, range)
        guard parser.parse(), covers(), isNamed else { return }
        let text = parser.text
        guard text.beacon(text.find("refinement", in: parser.payload)) == request.beacon || isOfItsCondition,
            let address = addressPlace.flatMap({ text.string($0) })
        else { return }
        addresses.insert(address)
    }

    /// Takes the beacon out of the octets between two line ends, or behind the last one.
    ///
    /// - Returns: whether anything is different.
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

    /// Blanks what names the beacon and is no line.
    mutating func blank(_ buffer: inout [UInt8], _ range: Range<Int>) -> Bool {
        guard stage == .named, coversPlace, name.stands(in: buffer.span.extracting(range)) else { return false }
        // Zeros are what recovery takes for the trace of a power cut.
        for index in range where buffer[index] != 0 { buffer[index] = Self.space }
        counts.damaged += 1
        return true
    }

    private func isWorthALook(_ octets: Span<UInt8>) -> Bool {
        if name.mayStand(in: octets) { return true }
        func holds(_ word: String) -> Bool { octets.first(of: Array(word.utf8), from: 0) != nil }
        if stage == .others, !addresses.isEmpty, holds("\"address\":\"") { return true }
        // What was erased by an earlier try counts too.
        if holds("\"type\":\"erased\"") { return true }
        if !erased.isEmpty || !cleared.isEmpty, holds("\"type\":\"evidence\"") { return true }
        // Where something damaged comes next, the date before it decides.
        return request.before != nil
    }

    /// Puts octets into the parser but for the zeros that a damaged sector left before them.
    ///
    /// - Returns: where what it was given begins.
    private mutating func take(_ buffer: [UInt8], _ range: Range<Int>) -> Int {
        let begin = buffer[range].lastIndex(of: 0).map { $0 + 1 } ?? range.lowerBound
        parser.text.bytes.removeAll(keepingCapacity: true)
        parser.text.bytes.append(contentsOf: buffer[begin..<range.upperBound])
        return begin
    }

    // MARK: Whom a line is about

    private func covers() -> Bool {
        request.covers(
            stamping.date(
                parser.head.date, printedWith: parser.head.offset, machine: String(BootID.machine(of: parser.boot))))
    }

    /// Whether the line names the beacon, wherever and however it is written.
    private var isNamed: Bool {
        let text = parser.text
        if name.stands(in: text.bytes.span) { return true }
        return text.all.indices.contains { text.all[$0].kind == .object && text.beacon($0) == request.beacon }
    }

    /// Whether it is about a condition that is the beacon.
    private var isOfItsCondition: Bool {
        parser.text.condition(parser.text.find("condition", in: parser.payload)).map { request.isExactly($0) } ?? false
    }

    /// Whether it tells of the beacon itself, and of nobody else.
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

    // MARK: What becomes of it

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

    /// Takes the beacon out of what a condition's line tells: whom it was satisfied by, who is in view.
    private mutating func clearNames() {
        let text = parser.text
        if let place = text.find("refinement", in: parser.payload), text.beacon(place) == request.beacon {
            remove(member: place)
            if let address = addressPlace { remove(member: address) }
        }
        for place in text.elements(of: text.find("beacons", in: parser.payload))
        where text.beacon(place) == request.beacon {
            let octets = text.octets(place)
            remove(octets.startIndex..<octets.endIndex)
        }
    }

    /// An exit of a condition that the beacon was heard last before: its sightings are the beacon's.
    private mutating func clearEvidence() {
        let text = parser.text
        for place in text.elements(of: text.find("sightings", in: parser.payload)) {
            let octets = text.octets(place)
            remove(octets.startIndex..<octets.endIndex)
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

    /// Leaves the envelope, the number and when it was.
    private mutating func eraseWhole() {
        let text = parser.text
        let (payload, stem) = (parser.payload, topicStem)
        func copy(_ key: StaticString, of object: Int, into buffer: inout LineBuffer) {
            guard let place = text.find(key, in: object) else { return }
            buffer.key(key)
            buffer.append(Array(text.octets(place)))
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
                // As it is in the line, with its escapes.
                buffer.quoted { $0.append(stem + Array("erased".utf8)) }
            }
            for key: StaticString in ["qos", "retain"] { copy(key, of: 0, into: &buffer) }
            buffer.object("payload") { writePayload(&$0) }
        }
        var line = buffer.bytes
        let room = text.bytes.count - line.count
        // A beacon takes more room than the two letters by which this type can be longer. A forged line need not name one.
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

    /// What the topics of the gateway begin with, as far as the line's own tells.
    private var topicStem: [UInt8] {
        let text = parser.text
        guard let topic = text.find("topic", in: 0), let gateway = text.find("gateway", in: parser.payload),
            let type = text.find("type", in: parser.payload)
        else { return [] }
        func inner(_ place: Int) -> [UInt8] { Array(text.octets(place).dropFirst().dropLast()) }
        let (octets, name) = (inner(topic), inner(gateway) + [UInt8(ascii: "/")])
        guard let place = octets.span.first(of: name + inner(type), from: 0) else { return [] }
        return octets[..<place] + name
    }

    // MARK: Octets

    private mutating func blank(_ range: Range<Int>) {
        for index in range { parser.text.bytes[index] = Self.space }
    }

    /// Takes a member out of its object: key, value and a comma.
    private mutating func remove(member value: Int) {
        let (key, octets) = (parser.text.octets(value - 1), parser.text.octets(value))
        remove(key.startIndex..<octets.endIndex)
    }

    private mutating func remove(_ range: Range<Int>) {
        blank(range)
        let comma = UInt8(ascii: ",")
        func isSpace(_ octet: UInt8) -> Bool { octet == Self.space || (0x09...0x0D).contains(octet) }
        let before = parser.text.bytes[..<range.lowerBound].lastIndex { !isSpace($0) }
        let after = parser.text.bytes[range.upperBound...].firstIndex { !isSpace($0) }
        if let before, parser.text.bytes[before] == comma {
            parser.text.bytes[before] = Self.space
        } else if let after, parser.text.bytes[after] == comma {
            parser.text.bytes[after] = Self.space
        }
    }
}
