import BaseTypes
import BeaconMonitoring
import BluetoothLE
import JSON
import SystemPackage

/// The content of `state.json`: a snapshot, and the number of the last line that it includes.
///
/// Times of the present start of the machine are whole nanoseconds of its timeline. Times of an earlier start are
/// dates.
struct StateFile {
    /// The name of the file in the state directory.
    static let name = "state.json"
    /// The version of the format. A reader refuses a higher one.
    static let version = 1
    /// The largest size in bytes: readers store positions in 32 bits.
    static let sizeMax = JSONText.sizeMax

    var sequence = 0
    /// No line has a number above this one; `nil` in files of earlier versions.
    var reserved: Int?
    var boot = ""
    var offset = ClockOffset.zero
    var isSynchronized: Bool?
    var snapshot = MonitorSnapshot()
    var records: [Identifier: RecordBuilder.StoredRecord] = [:]

    // MARK: Read

    /// The state file of a directory, as found.
    enum Found {
        case absent
        /// A valid state, and the size of its file in bytes.
        case whole(StateFile, size: Int)
        /// A file that is not a valid state, and its path.
        case damaged(FilePath)
    }

    /// Reads the file of a state directory, without changing anything.
    ///
    /// - Throws: ``EventLogError`` if it cannot be read, was written by a newer version, or has a number above the
    ///   highest possible one.
    static func read(
        from directory: FilePath, _ files: any FileSystemCalls = SystemFiles()
    ) throws(EventLogError) -> Found {
        let path = directory.appending(name)
        let bytes = try EventLogError.reading(path, WholeFile.read(path, bytesMax: sizeMax, files: files))
        guard let bytes else { return .absent }
        do throws(StateFile.Problem) {
            return .whole(try StateFile(parsing: bytes), size: bytes.count)
        } catch .newer(let version) {
            throw .newerVersion(path.string, version)
        } catch .numberTooGreat {
            throw .numberTooGreat(path.string, offset: nil)
        } catch {
            return .damaged(path)
        }
    }

    /// Reads the file, and also throws if it is damaged.
    ///
    /// - Returns: `nil` if there is no file.
    static func whole(in directory: FilePath) throws(EventLogError) -> StateFile? {
        switch try read(from: directory) {
        case .absent: nil
        case .whole(let state, _): state
        case .damaged(let path): throw .readFailed(path.string, .ioError)
        }
    }
}

// Writing.
extension StateFile {
    /// Appends the content of the file; the same state gives the same bytes. Values that change with time alone come
    /// before `sequence`.
    ///
    /// - Returns: the number of bytes before `sequence`. Everything after them changes only if something happens.
    func encode(gateway: String, now: Instant, into buffer: inout LineBuffer) -> Int {
        var varying = 0
        buffer.object { buffer in
            buffer.write("version", Self.version)
            buffer.write("gateway", gateway)
            buffer.write("boot", boot)
            buffer.write("date", WallDate(now, offset: offset))
            buffer.write("monotonic", now.nanoseconds / 1000)
            varying = buffer.count
            buffer.write("sequence", sequence)
            if let reserved { buffer.write("reserved", reserved) }
            buffer.write("offset", offset.nanoseconds)
            if let isSynchronized { buffer.write("synchronized", isSynchronized) }
            // One line each, so that people can read it.
            buffer.objects("monitors", snapshot.monitors, onLines: true) { buffer, monitor in
                buffer.write("name", monitor.name)
                buffer.write("outageTimeout", seconds: monitor.settings.outageTimeout)
                buffer.write("forgetAfter", seconds: monitor.settings.forgetAfter)
            }
            buffer.objects("adapters", snapshot.adapters, onLines: true) { buffer, adapter in
                buffer.write("name", adapter.name)
                if let address = adapter.address { buffer.write("address", address) }
                if let stopped = adapter.stopped { buffer.write("stopped", stopped) }
            }
            buffer.objects("conditions", snapshot.conditions, onLines: true) { write($1, into: &$0) }
        }
        buffer.append(byte: 0x0A)
        return varying
    }

    /// Returns the text of a file with another reservation; `nil` if the text is not a state.
    static func text(_ bytes: [UInt8], reserving number: Int) -> [UInt8]? {
        var text = JSONText(bytes)
        guard text.parse() else { return nil }
        if let place = text.find("reserved", in: 0) {
            let range = text.range(of: place)
            return Array(bytes[..<range.lowerBound]) + Array("\(number)".utf8) + Array(bytes[range.upperBound...])
        }
        guard let place = text.find("sequence", in: 0) else { return nil }
        let end = text.range(of: place).upperBound
        var buffer = LineBuffer(capacity: bytes.count + 64)
        buffer.append(Array(bytes[..<end]))
        buffer.write("reserved", number)
        buffer.append(Array(bytes[end...]))
        return buffer.bytes
    }

    /// Returns the text of a file that contains only a reservation of numbers.
    static func text(reserving number: Int, _ options: JournalOptions) -> [UInt8] {
        var state = StateFile()
        var buffer = LineBuffer(capacity: 1024)
        state.reserved = number
        _ = state.encode(gateway: options.gateway.text, now: Instant(nanoseconds: 0), into: &buffer)
        return buffer.bytes
    }

    private func write(_ condition: MonitorSnapshot.Condition, into buffer: inout LineBuffer) {
        buffer.write("monitor", condition.monitor)
        buffer.write("identifier", condition.identifier)
        buffer.write(condition.condition)
        if let settings = condition.settings { buffer.write(settings, assumed: nil) }
        buffer.object("own") { $0.write(condition.own) }
        if !condition.beacons.isEmpty {
            buffer.objects("beacons", condition.beacons, onLines: true) { $0.write($1) }
        }
        guard let record = records[Identifier(lookup: condition.identifier)] else { return }
        buffer.object("lastEvent") { buffer in
            buffer.write("placeholder", record.isPlaceholder)
            buffer.write("time", record.event.time.nanoseconds)
            buffer.write("offset", record.event.clockOffset.nanoseconds)
            // Its `time` is the one above, on the timeline.
            buffer.write(record.event, adapter: record.adapter, withTime: false)
        }
    }
}

extension LineBuffer {
    /// Writes a time: nanoseconds on the timeline, or a date.
    fileprivate mutating func write(_ key: StaticString, _ moment: PastMoment) {
        switch moment {
        case .timeline(let instant): write(key, instant.nanoseconds)
        case .date(let date): write(key, date)
        }
    }

    fileprivate mutating func write(_ subject: MonitorSnapshot.Subject) {
        write("state", word: subject.state.word)
        if let beacon = subject.beacon { write(refinement: beacon) }
        if subject.wasSatisfied { write("wasSatisfied", true) }
        if let previous = subject.previous {
            object("previous") { buffer in
                buffer.write("state", word: previous.state.word)
                buffer.write("date", previous.date)
            }
        }
        if let refresh = subject.lastRefresh { object("lastRefresh") { $0.write(refresh) } }
        if let seen = subject.lastSeen { write("lastSeen", seen) }
        if !subject.holders.isEmpty { write("holders", subject.holders) }
        if let visit = subject.visit { object("visit") { $0.write(visit) } }
    }

    private mutating func write(_ refresh: MonitorSnapshot.Refresh) {
        write("adapter", refresh.adapter)
        write("time", refresh.time)
        write(refinement: refresh.beacon)
        if let power = refresh.measuredPower { write("measuredPower", power) }
        if let rssi = refresh.rssi { write("rssi", rssi.dBm) }
        if let address = refresh.address {
            write("address", address)
            write("addressKind", address.kind.rawValue)
        }
    }

    private mutating func write(_ visit: MonitorSnapshot.OpenVisit) {
        write("refreshes", visit.refreshes)
        if let arrival = visit.arrival { write("arrival", arrival) }
        guard let strength = visit.strength else { return }
        object("rssi") { buffer in
            buffer.write("minimum", strength.minimum)
            buffer.write("sum", strength.sum)
            buffer.write("count", strength.count)
            buffer.write("maximum", strength.maximum)
        }
    }
}

// Reading. The file can come from another program.
extension StateFile {
    enum Problem: Error {
        /// The text is not a state, or it is incomplete.
        case damaged
        /// A later version of the program wrote it.
        case newer(Int)
        /// It has the number of a line above the highest possible number.
        case numberTooGreat
    }

    init(parsing bytes: [UInt8]) throws(Problem) {
        var parser = LineParser()
        parser.text = JSONText(bytes)
        guard parser.text.parse(), let version = parser.text.integer(parser.text.find("version", in: 0)), version > 0
        else { throw .damaged }
        guard version <= Self.version else { throw .newer(version) }
        guard let sequence = parser.text.integer(parser.text.find("sequence", in: 0)), sequence >= 0,
            let offset = parser.text.integer(parser.text.find("offset", in: 0), as: Int64.self)
        else { throw .damaged }
        let reserved = parser.text.integer(parser.text.find("reserved", in: 0))
        guard max(sequence, reserved ?? 0) <= LinePosition.sequenceMax else {
            throw .numberTooGreat
        }
        self.sequence = sequence
        self.reserved = reserved.map { max($0, sequence) }
        self.offset = ClockOffset(nanoseconds: offset)
        boot = parser.text.string(parser.text.find("boot", in: 0)) ?? ""
        isSynchronized = parser.text.bool(parser.text.find("synchronized", in: 0))
        snapshot.monitors = parser.text.elements(of: parser.text.find("monitors", in: 0)).compactMap {
            Self.monitor(parser.text, $0)
        }
        snapshot.adapters = parser.text.elements(of: parser.text.find("adapters", in: 0)).compactMap { place in
            parser.text.string(parser.text.find("name", in: place)).map {
                MonitorSnapshot.Adapter(
                    name: $0,
                    address: parser.text.string(parser.text.find("address", in: place)).flatMap {
                        DeviceAddress($0, kind: .unspecified)
                    },
                    stopped: Self.moment(parser.text, parser.text.find("stopped", in: place)))
            }
        }
        for place in parser.text.elements(of: parser.text.find("conditions", in: 0)) {
            guard let condition = Self.condition(parser.text, place) else { throw .damaged }
            snapshot.conditions.append(condition)
            guard let object = parser.text.find("lastEvent", in: place),
                let time = parser.text.integer(parser.text.find("time", in: object), as: Int64.self),
                let offset = parser.text.integer(parser.text.find("offset", in: object), as: Int64.self),
                let event = parser.event(
                    in: object, time: Instant(nanoseconds: time), offset: ClockOffset(nanoseconds: offset))
            else { continue }
            records[Identifier(lookup: condition.identifier)] = RecordBuilder.StoredRecord(
                event: event, adapter: event.sighting.map { parser.adapters.name(of: $0.adapter) } ?? "",
                isPlaceholder: parser.text.bool(parser.text.find("placeholder", in: object)) ?? false)
        }
    }

    private static func monitor(_ text: JSONText, _ place: Int) -> MonitorSnapshot.Monitor? {
        guard let name = text.string(text.find("name", in: place)),
            let outage = text.microseconds(text.find("outageTimeout", in: place)),
            let forget = text.microseconds(text.find("forgetAfter", in: place))
        else { return nil }
        var settings = MonitorSettings()
        settings.outageTimeout = .microseconds(outage)
        settings.forgetAfter = .microseconds(forget)
        return MonitorSnapshot.Monitor(name: name, settings: settings)
    }

    private static func moment(_ text: JSONText, _ place: Int?) -> PastMoment? {
        if let nanoseconds = text.integer(place, as: Int64.self) {
            return .timeline(Instant(nanoseconds: nanoseconds))
        }
        return text.date(place).map { .date($0) }
    }

    private static func condition(_ text: JSONText, _ place: Int) -> MonitorSnapshot.Condition? {
        guard let monitor = text.string(text.find("monitor", in: place)),
            let identifier = text.string(text.find("identifier", in: place)),
            let condition = text.condition(text.find("condition", in: place)),
            let object = text.find("own", in: place), let own = subject(text, object)
        else { return nil }
        var saved = MonitorSnapshot.Condition(
            monitor: monitor, identifier: identifier, condition: condition,
            settings: text.settings(text.find("settings", in: place)), own: own)
        saved.beacons = text.elements(of: text.find("beacons", in: place)).compactMap { subject(text, $0) }
        return saved
    }

    private static func subject(_ text: JSONText, _ place: Int) -> MonitorSnapshot.Subject? {
        guard let state = text.state(text.find("state", in: place)) else { return nil }
        var subject = MonitorSnapshot.Subject(beacon: text.beacon(text.find("refinement", in: place)), state: state)
        subject.wasSatisfied = text.bool(text.find("wasSatisfied", in: place)) ?? false
        if let object = text.find("previous", in: place), let state = text.state(text.find("state", in: object)),
            let date = text.date(text.find("date", in: object))
        {
            subject.previous = BeaconMonitor.Event.Previous(state: state, date: date)
        }
        subject.lastRefresh = text.find("lastRefresh", in: place).flatMap { refresh(text, $0) }
        subject.lastSeen = moment(text, text.find("lastSeen", in: place))
        subject.holders = text.elements(of: text.find("holders", in: place)).compactMap { text.string($0) }
        subject.visit = text.find("visit", in: place).flatMap { visit(text, $0) }
        return subject
    }

    private static func refresh(_ text: JSONText, _ place: Int) -> MonitorSnapshot.Refresh? {
        // It may be absent, but a present value must be valid.
        let powerPlace = text.find("measuredPower", in: place)
        let power = text.integer(powerPlace, as: Int8.self)
        guard let adapter = text.string(text.find("adapter", in: place)),
            let time = moment(text, text.find("time", in: place)),
            let beacon = text.beacon(text.find("refinement", in: place)),
            powerPlace == nil || power != nil
        else { return nil }
        let kind = text.integer(text.find("addressKind", in: place), as: UInt8.self)
            .flatMap { DeviceAddress.Kind(rawValue: $0) }
        return MonitorSnapshot.Refresh(
            time: time, beacon: beacon, measuredPower: power, rssi: text.rssi(text.find("rssi", in: place)),
            address: text.string(text.find("address", in: place)).flatMap {
                DeviceAddress($0, kind: kind ?? .unspecified)
            },
            adapter: adapter)
    }

    private static func visit(_ text: JSONText, _ place: Int) -> MonitorSnapshot.OpenVisit? {
        guard let refreshes = text.integer(text.find("refreshes", in: place)), refreshes >= 0 else { return nil }
        var visit = MonitorSnapshot.OpenVisit(
            arrival: moment(text, text.find("arrival", in: place)), refreshes: refreshes, strength: nil)
        if let object = text.find("rssi", in: place),
            let minimum = text.integer(text.find("minimum", in: object), as: Int8.self),
            let maximum = text.integer(text.find("maximum", in: object), as: Int8.self),
            let sum = text.integer(text.find("sum", in: object), as: Int64.self),
            let count = text.integer(text.find("count", in: object)), count > 0, count <= refreshes,
            // The sum of `count` values of 8 bits must give a mean within the bounds.
            (Int64(minimum)...max(Int64(maximum), Int64(minimum))).contains(sum / Int64(count))
        {
            visit.strength = Visit.Strength(minimum: minimum, sum: sum, count: count, maximum: maximum)
        }
        return visit
    }
}
