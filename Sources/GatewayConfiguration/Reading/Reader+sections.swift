internal import BeaconMonitoring
internal import BluetoothLE

/// `scanner` and `location`.
extension Reader {
    mutating func scanner(_ root: Section<RootKey>) -> ScannerConfiguration {
        var scanner = ScannerConfiguration()
        let section = section(ScannerKey.self, at: root[.scanner], path: "scanner")
        if let backend = setting(.backend, of: section, Self.choice(ScannerConfiguration.Backend.self)).value {
            scanner.backend = backend
        }
        if let mode = setting(.mode, of: section, Self.choice(ScannerConfiguration.Mode.self)).value {
            scanner.mode = mode
        }
        let cycle = setting(.dutyCycle, of: section) { (text) throws(ScalarProblem) in
            let part = try ScalarSyntax.number(text)
            guard let cycle = try? DutyCycle(part: part) else { throw ScalarProblem("expected 0.01…1") }
            return cycle
        }
        if let cycle = cycle.value { scanner.dutyCycle = cycle }
        if let offset = cycle.offset, isWhole, scanner.mode != .lowPower {
            mistakes.report(
                at: offset, "scanner.duty_cycle has a part in low_power alone",
                hint: "write mode: low_power, or take it out")
        }
        if let latency = setting(.latency, of: section, Self.duration(in: SettingLimits.latency)).value {
            scanner.latency = latency
        }
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
                mistakes.report(at: offset, "scanner.adapters has more than \(SettingLimits.adaptersMost) entries")
                return adapters
            }
            if adapters.contains(name) {
                mistakes.report(at: offset, "scanner.adapters names \(name) twice", hint: "take one out")
            } else {
                adapters.append(name)
            }
        }
        if document.end(of: node) == node + 1, isWhole {
            mistakes.report(
                at: document.offset(of: node), "scanner.adapters names no adapter", hint: "take the line out for all")
        }
        return adapters
    }

    /// A name as it is; an address as all are written, so that one that is listed twice shows.
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
        let uuid = setting(.uuid, of: section) { (text) throws(ScalarProblem) in try ScalarSyntax.uuid(text) }
        let major = setting(.major, of: section, Self.integer(in: SettingLimits.major))
        let minor = setting(.minor, of: section, Self.integer(in: SettingLimits.major))
        guard let map = section.node else { return nil }
        if uuid.isAbsent, !document.nodes[map].isOpen {
            mistakes.report(at: document.offset(of: map), "scanner.canary has no uuid", hint: "name the beacon's")
        }
        return beacon(uuid: uuid, major: major, minor: minor, in: map, path: "scanner.canary")
    }

    /// A beacon condition of its parts, where all are well; a minor without a major is reported.
    mutating func beacon(
        uuid: Setting<(high: UInt64, low: UInt64)>, major: Setting<Int>, minor: Setting<Int>, in map: Int, path: String
    ) -> BeaconMonitor.BeaconIdentityCondition? {
        if let offset = minor.offset, major.isAbsent, !document.nodes[map].isOpen {
            mistakes.report(at: offset, "\(path).minor needs a major", hint: "add the major, or take the minor out")
        }
        guard let (high, low) = uuid.value else { return nil }
        let value = ProximityUUID(high: high, low: low)
        guard let major = major.value.map(UInt16.init(clamping:)) else {
            return BeaconMonitor.BeaconIdentityCondition(uuid: value)
        }
        guard let minor = minor.value.map(UInt16.init(clamping:)) else {
            return BeaconMonitor.BeaconIdentityCondition(uuid: value, major: major)
        }
        return BeaconMonitor.BeaconIdentityCondition(uuid: value, major: major, minor: minor)
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
        guard section.node != nil, !source.isMistaken else { return nil }
        switch source.value ?? .gpsd {
        case .gpsd:
            for (name, offset) in [
                ("file", file.offset), ("speed", speed.offset), ("loop", loop.offset), ("pace", pace.offset),
            ] {
                guard let offset, isWhole else { continue }
                mistakes.report(
                    at: offset, "location.\(name) has no part in source gpsd",
                    hint: "write source: gpx, or take it out")
            }
            // 2947 is gpsd's port by IANA's register.
            return .gpsd(host: host.value ?? "localhost", port: port.value ?? 2947)
        case .gpx:
            for (name, offset) in [("host", host.offset), ("port", port.offset)] {
                guard let offset, isWhole else { continue }
                mistakes.report(at: offset, "location.\(name) has no part in source gpx", hint: "take it out")
            }
            guard let path = file.value else {
                if file.isAbsent, isWhole {
                    mistakes.report(
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

    /// A speed, or how many times as fast.
    private static func factor(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> Double {
        let number = try ScalarSyntax.number(text)
        guard SettingLimits.factor.contains(number) else { throw ScalarProblem("expected 0.01…1000") }
        return number
    }
}
