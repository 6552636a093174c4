import BeaconMonitoring
import BluetoothLE

/// Reads a document as a configuration according to the schema, and reports all errors.
struct Reader {
    let document: Document
    let deafAfterUnlessSet: Duration?
    var errors: Findings
    var warnings = Findings()
    /// The offset of the status socket. Only the machine can show whether it can be created there.
    var statusSocket: Int?
    /// The offset of the setting that sends names to the broker.
    var publishedNames: Int?
    /// The offsets of `beacons` and of each beacon in its list, if the file has one.
    var names: Int?
    var namedBeacons: [Int] = []
    /// The identifiers, each with the offset of its first use (rule C6).
    var identifiers: [Identifier: UInt32] = [:]

    init(_ document: Document, errors: Findings, deafAfterUnlessSet: Duration?) {
        self.document = document
        self.errors = errors
        self.deafAfterUnlessSet = deafAfterUnlessSet
    }

    var source: SourceText { document.source }

    /// Whether settings can be compared with each other. They cannot if the rest of the file could not be read.
    var isWhole: Bool { !document.isTruncated }

    /// The result of reading a setting.
    enum Setting<Value> {
        /// The section does not have the setting.
        case absent
        /// The setting is invalid, which was reported.
        case invalid
        /// The value and its offset.
        case value(Value, offset: Int)

        var value: Value? {
            guard case .value(let value, _) = self else { return nil }
            return value
        }

        var offset: Int? {
            guard case .value(_, let offset) = self else { return nil }
            return offset
        }

        var isInvalid: Bool {
            guard case .invalid = self else { return false }
            return true
        }

        var isAbsent: Bool {
            guard case .absent = self else { return false }
            return true
        }
    }

    /// Returns the setting `key` of `section`, converted by `parse`. If `isSecret`, an error does not show its text.
    mutating func setting<Key, Value>(
        _ key: Key, of section: Section<Key>, isSecret: Bool = false,
        _ parse: (ArraySlice<UInt8>) throws(ScalarProblem) -> Value
    ) -> Setting<Value> {
        guard let node = section[key] else { return .absent }
        return value(at: node, called: section.path(of: key), isSecret: isSecret, parse)
    }

    /// Sets `value` to the setting `key` of `section`, if the file has it and it is valid.
    mutating func set<Key, Value>(
        _ value: inout Value, to key: Key, of section: Section<Key>,
        _ parse: (ArraySlice<UInt8>) throws(ScalarProblem) -> Value
    ) {
        if let read = setting(key, of: section, parse).value { value = read }
    }

    /// Returns the scalar at `node`, converted by `parse`. An error calls it `name`.
    mutating func value<Value>(
        at node: Int, called name: @autoclosure () -> String, isSecret: Bool = false,
        _ parse: (ArraySlice<UInt8>) throws(ScalarProblem) -> Value
    ) -> Setting<Value> {
        guard isScalar(node, called: name()) else { return .invalid }
        let text = document.text(of: node)
        do {
            return .value(try parse(text), offset: document.offset(of: node))
        } catch {
            errors.report(
                at: document.offset(of: node), "\(name()) is \(isSecret ? "invalid" : Self.shown(text))",
                hint: error.expected)
            return .invalid
        }
    }

    /// Returns whether a node is a scalar with a value, and reports an error if not.
    private mutating func isScalar(_ node: Int, called name: @autoclosure () -> String) -> Bool {
        switch document.kind(of: node) {
        case .reported: return false
        case .mapping, .sequence:
            errors.report(
                at: document.offset(of: node),
                "\(name()) is a \(document.kind(of: node) == .mapping ? "map" : "list")",
                hint: "expected a single value")
            return false
        case .plain, .quoted:
            guard document.isNull(node) else { return true }
            reportNull(node, called: name())
            return false
        }
    }

    mutating func reportNull(_ node: Int, called name: String) {
        let isEmpty = document.text(of: node).isEmpty
        errors.report(
            at: document.offset(of: node), "\(name) has no value",
            hint: isEmpty ? "add a value, or remove the line" : "add a value, or quote the word if it is the value"
        )
    }

    /// Returns a text for an error: short, and without control sequences for terminals.
    static func shown(_ text: ArraySlice<UInt8>) -> String {
        let most = 48
        let isBare = !text.isEmpty && text.count <= most && text.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x3B }
        if isBare { return String(decoding: text, as: UTF8.self) }
        var result = "“"
        var count = 0
        for scalar in String(decoding: text.prefix(4 * most), as: UTF8.self).unicodeScalars {
            count += 1
            guard count <= most else { return result + "…”" }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
                result += "⟨U+\(hexadecimal(scalar.value))⟩"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "”"
    }

    // MARK: Values of several sections

    /// Reads a case of an enumeration.
    static func choice<Value: CaseIterable & RawRepresentable>(
        _ values: Value.Type
    ) -> (ArraySlice<UInt8>) throws(ScalarProblem) -> Value where Value.RawValue == String {
        { (text) throws(ScalarProblem) in
            guard let value = Value.allCases.first(where: { ScalarSyntax.matches(text, $0.rawValue) }) else {
                throw ScalarProblem("expected \(Schema.list(Value.allCases.map(\.rawValue)))")
            }
            return value
        }
    }

    /// Reads an integer in a range.
    static func integer(in range: ClosedRange<Int>) -> (ArraySlice<UInt8>) throws(ScalarProblem) -> Int {
        { (text) throws(ScalarProblem) in try ScalarSyntax.integer(text, in: range) }
    }

    /// Reads a TCP port.
    static func port(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> UInt16 {
        UInt16(clamping: try ScalarSyntax.integer(text, in: SettingLimits.port))
    }

    /// Reads a major or a minor.
    static func major(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> UInt16 {
        UInt16(clamping: try ScalarSyntax.integer(text, in: SettingLimits.major))
    }

    /// Reads a duration in a range.
    static func duration(in range: ClosedRange<Duration>) -> (ArraySlice<UInt8>) throws(ScalarProblem) -> Duration {
        { (text) throws(ScalarProblem) in try ScalarSyntax.duration(text, in: range) }
    }

    /// Reads a size in a range, in bytes.
    static func size(in range: ClosedRange<Int64>) -> (ArraySlice<UInt8>) throws(ScalarProblem) -> Int64 {
        { (text) throws(ScalarProblem) in try ScalarSyntax.size(text, in: range) }
    }

    /// Reads an absolute path. A relative one would depend on the working directory of a service.
    static func path(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> String {
        try path(text, lengthMost: SettingLimits.pathBytes)
    }

    /// Reads the path of a socket.
    static func socketPath(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> String {
        try path(text, lengthMost: SettingLimits.socketPathBytes)
    }

    private static func path(_ text: ArraySlice<UInt8>, lengthMost: Int) throws(ScalarProblem) -> String {
        guard text.first == UInt8(ascii: "/"), text.count <= lengthMost, text.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { throw ScalarProblem("expected an absolute path of at most \(lengthMost) bytes, such as /var/lib/…") }
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads the name or address of a host, without a scheme and a port.
    static func host(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> String {
        let host = String(decoding: text, as: UTF8.self)
        guard !host.contains("://") else { throw ScalarProblem("expected only the host, without a scheme and a port") }
        // RFC 1035 §2.3.4: a name has at most 255 bytes.
        guard (1...255).contains(text.count), text.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") })
        else { throw ScalarProblem("expected a host name or address") }
        let colons = text.count { $0 == UInt8(ascii: ":") }
        guard colons != 1 else { throw ScalarProblem("expected only the host; the port is a separate setting") }
        return host
    }

    /// Reads a word of 1 to 255 bytes without control characters.
    static func word(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> String {
        guard (1...255).contains(text.count), text.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw ScalarProblem("expected 1 to 255 bytes without control characters")
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads the first levels of topics (MQTT 3.1.1 §4.7).
    static func topicPrefix(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> String {
        let levels = text.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isValid =
            (1...255).contains(text.count) && text.first != UInt8(ascii: "$") && !levels.contains { $0.isEmpty }
            && text.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "#") }
        guard isValid else {
            throw ScalarProblem(
                "expected one or more levels, separated by /, without + and #, and not starting with $")
        }
        return String(decoding: text, as: UTF8.self)
    }

    // MARK: Placeholders of examples and of tools

    // RFC 2606 §2 and §3. `localhost` is also reserved, but it is a valid name for this machine.
    private static let reservedDomains = ["example", "invalid", "test", "example.com", "example.net", "example.org"]

    /// Returns whether the name of a host is reserved, so that it cannot be registered.
    static func isReserved(host: String) -> Bool {
        var name = host.lowercased()
        if name.hasSuffix(".") { name.removeLast() }
        return reservedDomains.contains { name == $0 || name.hasSuffix(".\($0)") }
    }

    /// Warns about a broker with a reserved name.
    mutating func warnOfReservedName(_ host: Setting<String>) {
        guard case .value(let name, let offset) = host, Self.isReserved(host: name) else { return }
        warnings.report(
            at: offset, "mqtt.host is \(name), which is reserved for examples and tests (RFC 2606)",
            hint: "write the name or address of your broker")
    }

    /// Warns about `${HOSTNAME}` and similar text in a value: a shell, Compose or Ansible replaces it, but this reader
    /// does not.
    mutating func warnOfPlaceholders() {
        // Most files have no `$`, which is checked quickly.
        guard source.bytes.contains(UInt8(ascii: "$")), Self.placeholder(in: source.bytes[...]) != nil else { return }
        for node in document.nodes.indices {
            let text = document.text(of: node)
            guard let range = Self.placeholder(in: text) else { continue }
            let name = String(decoding: text[range], as: UTF8.self)
            warnings.report(
                at: document.offset(of: node), "\(name) is used literally: variables are not replaced",
                hint: "write the value itself, or generate this file with a tool that replaces variables")
        }
    }

    /// Returns the range of the first `${NAME}` in a text. The name must be valid in a shell, and text can follow it
    /// before the brace (`${NAME:-else}`).
    static func placeholder(in text: ArraySlice<UInt8>) -> Range<Int>? {
        var rest = text
        while let dollar = rest.firstIndex(of: UInt8(ascii: "$")) {
            rest = rest[(dollar + 1)...]
            guard rest.first == UInt8(ascii: "{") else { continue }
            // A longer text is not a name. The limit also bounds the time for many `${` without an end.
            let inner = rest.dropFirst().prefix(64)
            guard let end = inner.firstIndex(of: UInt8(ascii: "}")), let first = inner.first, end > inner.startIndex,
                first == UInt8(ascii: "_") || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first & ~0x20),
                inner[..<end].allSatisfy({ (0x20..<0x7F).contains($0) })
            else { continue }
            return dollar..<(end + 1)
        }
        return nil
    }

    // MARK: Scanner and location

    mutating func scanner(_ root: Section<RootKey>) -> ScannerConfiguration {
        var scanner = ScannerConfiguration()
        let section = section(ScannerKey.self, at: root[.scanner], path: "scanner")
        set(&scanner.backend, to: .backend, of: section, Self.choice(ScannerConfiguration.Backend.self))
        set(&scanner.mode, to: .mode, of: section, Self.choice(ScannerConfiguration.Mode.self))
        let cycle = setting(.dutyCycle, of: section) { (text) throws(ScalarProblem) in
            let part = try ScalarSyntax.number(text)
            guard let cycle = try? DutyCycle(part: part) else { throw ScalarProblem("expected 0.01…1") }
            return cycle
        }
        if let cycle = cycle.value { scanner.dutyCycle = cycle }
        if let offset = cycle.offset, isWhole, scanner.mode != .lowPower {
            errors.report(
                at: offset, "scanner.duty_cycle is only for low_power",
                hint: "write mode: low_power, or remove it")
        }
        set(&scanner.latency, to: .latency, of: section, Self.duration(in: SettingLimits.latency))
        scanner.adapters = adapters(section)
        if let node = section[.canary] { scanner.canary = canary(node) }
        return scanner
    }

    private mutating func adapters(_ section: Section<ScannerKey>) -> [String] {
        guard let node = section[.adapters],
            let entries = list(at: node, called: "scanner.adapters", example: "[hci0]")
        else { return [] }
        var adapters: [String] = []
        for entry in entries {
            guard case .value(let name, let offset) = value(at: entry, called: "an adapter", Self.adapter) else {
                continue
            }
            guard adapters.count < SettingLimits.adaptersMost else {
                errors.report(at: offset, "scanner.adapters has more than \(SettingLimits.adaptersMost) entries")
                return adapters
            }
            if adapters.contains(name) {
                errors.report(at: offset, "scanner.adapters has \(name) twice", hint: "remove one")
            } else {
                adapters.append(name)
            }
        }
        if document.end(of: node) == node + 1, isWhole {
            errors.report(
                at: document.offset(of: node), "scanner.adapters is empty", hint: "remove the line to use all adapters")
        }
        return adapters
    }

    /// Reads the name or the address of an adapter. An address is returned in its standard form, so that duplicates are
    /// detected.
    private static func adapter(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> String {
        let name = String(decoding: text, as: UTF8.self)
        if name.hasPrefix("hci"), let number = UInt16(name.dropFirst(3)), name == "hci\(number)" { return name }
        guard let address = DeviceAddress(name, kind: .public), address.value != 0 else {
            throw ScalarProblem("expected an adapter's name, such as hci0, or its address")
        }
        return address.description
    }

    private mutating func canary(_ node: Int) -> BeaconMonitor.BeaconIdentityCondition? {
        let section = section(CanaryKey.self, at: node, path: "scanner.canary")
        let uuid = setting(.uuid, of: section, ScalarSyntax.uuid)
        let major = setting(.major, of: section, Self.major)
        let minor = setting(.minor, of: section, Self.major)
        guard let map = section.node else { return nil }
        if uuid.isAbsent, !document.nodes[map].isOpen {
            errors.report(
                at: document.offset(of: map), "scanner.canary has no uuid", hint: "add the UUID of the beacon")
        }
        return beacon(uuid: uuid, major: major, minor: minor, in: map, path: "scanner.canary")
    }

    /// Returns a beacon condition if its parts are valid; a minor without a major is reported.
    mutating func beacon(
        uuid: Setting<ProximityUUID>, major: Setting<UInt16>, minor: Setting<UInt16>, in map: Int, path: String
    ) -> BeaconMonitor.BeaconIdentityCondition? {
        if let offset = minor.offset, major.isAbsent, !document.nodes[map].isOpen {
            errors.report(at: offset, "\(path).minor needs a major", hint: "add the major, or remove the minor")
        }
        guard let uuid = uuid.value else { return nil }
        guard let major = major.value else { return BeaconMonitor.BeaconIdentityCondition(uuid: uuid) }
        guard let minor = minor.value else { return BeaconMonitor.BeaconIdentityCondition(uuid: uuid, major: major) }
        return BeaconMonitor.BeaconIdentityCondition(uuid: uuid, major: major, minor: minor)
    }

    enum LocationSource: String, CaseIterable { case gpsd, gpx }

    mutating func location(_ root: Section<RootKey>) -> LocationConfiguration? {
        guard let node = root[.location] else { return nil }
        let section = section(LocationKey.self, at: node, path: "location")
        let source = setting(.source, of: section, Self.choice(LocationSource.self))
        let host = setting(.host, of: section, Self.host)
        let port = setting(.port, of: section, Self.port)
        let file = setting(.file, of: section, Self.path)
        let speed = setting(.speed, of: section, Self.factor)
        let loop = setting(.loop, of: section, ScalarSyntax.bool)
        let pace = setting(.pace, of: section, Self.factor)
        guard section.node != nil, !source.isInvalid else { return nil }
        switch source.value ?? .gpsd {
        case .gpsd:
            for (name, offset) in [
                ("file", file.offset), ("speed", speed.offset), ("loop", loop.offset), ("pace", pace.offset),
            ] {
                guard let offset, isWhole else { continue }
                errors.report(
                    at: offset, "location.\(name) is not a setting of source gpsd",
                    hint: "write source: gpx, or remove it")
            }
            // 2947 is the port of gpsd in the register of IANA.
            return .gpsd(host: host.value ?? "localhost", port: port.value ?? 2947)
        case .gpx:
            for (name, offset) in [("host", host.offset), ("port", port.offset)] {
                guard let offset, isWhole else { continue }
                errors.report(at: offset, "location.\(name) is not a setting of source gpx", hint: "remove it")
            }
            guard let path = file.value else {
                if file.isAbsent, isWhole {
                    errors.report(
                        at: source.offset ?? document.offset(of: node), "location.source gpx needs a file",
                        hint: "add file: /path/to/track.gpx")
                }
                return nil
            }
            var track = GPXConfiguration(file: path)
            track.speed = speed.value ?? 1
            track.loops = loop.value ?? false
            track.pace = pace.value
            return .gpx(track)
        }
    }

    /// Reads a speed, or a factor of the speed.
    private static func factor(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> Double {
        let number = try ScalarSyntax.number(text)
        guard SettingLimits.factor.contains(number) else { throw ScalarProblem("expected 0.01…1000") }
        return number
    }
}
