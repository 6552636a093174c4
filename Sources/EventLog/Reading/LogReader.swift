public import BeaconMonitoring
public import BluetoothLE
import CLinux
import Glibc
import JSON
public import SystemPackage

/// One line of the event files, and when it really was.
public struct LogLine {
    /// What a line says, by its type.
    public enum Entry: Sendable {
        /// A subject's new state.
        case event(BeaconMonitor.Event)
        /// A visit ended.
        case visit(Visit)
        /// A condition was added, replaced, changed or removed.
        case condition(ConditionChange)
        /// An adapter began or ceased to listen.
        case adapter(AdapterChange)
        /// The wall clock stepped or became synchronised.
        case clock(ClockChange)
        /// What an exit rests on.
        case evidence(Evidence)
    }

    /// What it says.
    public var entry: Entry
    /// Its number; absent in `evidence`.
    public var sequence: Int?
    /// The start that it was written in; empty in a replay.
    public var boot: String
    /// When it was made, on its own timeline.
    public var time: Instant
    /// What its dates are to be printed with: what later `clock` lines say, else what they were printed with.
    public var offset: ClockOffset
    /// What its dates were printed with.
    public var printedOffset: ClockOffset
    /// The name of an adapter that its event names.
    public var adapter: String

    /// When it was made, by the wall clock as later lines correct it.
    public var date: WallDate { WallDate(time, offset: offset) }

    /// The date of a moment on the line's timeline; what lies before its beginning stays as it was printed.
    public func date(of instant: Instant) -> WallDate {
        WallDate(instant, offset: instant.nanoseconds < 0 ? printedOffset : offset)
    }
}

extension LogLine {
    /// Its type.
    var type: LogReader.Types {
        switch entry {
        case .event: .event
        case .visit: .visit
        case .condition: .condition
        case .adapter: .adapter
        case .clock: .clock
        case .evidence: .evidence
        }
    }
}

/// Reads event files from the first line to the last, each once, in constant memory, with the dates that later lines put right.
public struct LogReader {
    /// The types of lines that are asked for; the others are passed over.
    public struct Types: OptionSet, Sendable {
        /// The set's bits.
        public let rawValue: UInt8
        /// Makes a set of bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// `event` lines.
        public static let event = Types(rawValue: 1)
        /// `visit` lines.
        public static let visit = Types(rawValue: 2)
        /// `condition` lines.
        public static let condition = Types(rawValue: 4)
        /// `adapter` lines.
        public static let adapter = Types(rawValue: 8)
        /// `clock` lines.
        public static let clock = Types(rawValue: 16)
        /// `evidence` lines.
        public static let evidence = Types(rawValue: 32)
    }

    /// What the reader met that no line could be made of.
    public private(set) var damagedLines = 0
    /// Lines of the types asked for that a later version of the program wrote, and that were passed over.
    public private(set) var newerLines = 0
    /// Lines of the types asked for that stand in the files twice, and were handed over once.
    public private(set) var repeatedLines = 0
    /// Lines that were there, whatever their type.
    public private(set) var lines = 0
    /// How many octets all files have.
    public let size: Int
    /// How many of them have been read. (They were looked through for `clock` lines before.)
    public private(set) var position = 0

    private let paths: [FilePath]
    private let files: any FileSystemCalls

    /// A reader of the segments in folders, in the order of their numbers, and of files as they are given.
    ///
    /// - Throws: ``EventLogError/readFailed(_:_:)``.
    public init(_ places: [FilePath]) throws(EventLogError) { try self.init(places, files: SystemFiles()) }

    package init(_ places: [FilePath], files: any FileSystemCalls) throws(EventLogError) {
        self.files = files
        var paths: [FilePath] = []
        var size = 0
        for place in places {
            do throws(Errno) {
                do throws(Errno) {
                    var list = SegmentList()
                    paths += try list.read(place, files).map { place.appending($0.name) }
                } catch .notDirectory {
                    paths.append(place)
                }
            } catch {
                throw .readFailed(place.string, error)
            }
        }
        for path in paths {
            do throws(Errno) {
                let file = try files.openForReading(path)
                defer { files.close(file) }
                size += try files.size(of: file)
            } catch {
                throw .readFailed(path.string, error)
            }
        }
        self.paths = paths
        self.size = size
    }

    /// Reads all lines of the types asked for and hands them over in order.
    ///
    /// - Parameters:
    ///   - types: which lines.
    ///   - sightings: whether the sightings that events rest on are wanted too.
    ///   - progress: called now and then with how many more lines were read, and how many octets altogether.
    ///   - body: takes a line; `false` ends it.
    /// - Throws: ``EventLogError``, and what `body` throws.
    public mutating func read(
        _ types: Types, sightings: Bool = true, progress: (Int, Int) -> Void = { _, _ in },
        _ body: (LogLine) throws -> Bool
    ) throws {
        var stamping = Restamping()
        (position, damagedLines, newerLines, repeatedLines, lines) = (0, 0, 0, 0, 0)
        // First what the clock lines say of the dates before them.
        for path in paths { try stamping.note(clockLinesOf: path, files) }
        var boot = Boot()
        var parser = LineParser()
        parser.readsAddresses = false
        parser.readsSightings = sightings
        var (goesOn, damaged, newer, repeated) = (true, 0, 0, 0)
        var known = RepeatedLines(paths, files)
        for place in paths.indices where goesOn {
            try each(paths[place], of: types, &parser, progress) { parser, end in
                guard parser.parse() else {
                    damaged += 1
                    return true
                }
                if parser.passedOver > 0 { damaged += 1 }
                guard parser.head.version <= LineVersion.current else {
                    newer += 1
                    return true
                }
                guard let line = Self.line(&parser, &boot, stamping), types.contains(line.type) else { return true }
                guard try !known.contain(parser, boot: line.boot, file: place, end: end) else {
                    repeated += 1
                    return true
                }
                goesOn = try body(line)
                return goesOn
            }
        }
        damagedLines += damaged
        newerLines = newer
        repeatedLines = repeated
    }

    /// Hands over each line of the types asked for in the parser, which has not parsed it, with where it ends in the file;
    /// and what holds another line, since that one may be of these types.
    private mutating func each(
        _ path: FilePath, of types: Types, _ parser: inout LineParser, _ progress: (Int, Int) -> Void,
        _ body: (inout LineParser, Int) throws -> Bool
    ) throws {
        let begin = position
        var unreported = 0
        do {
            var reader = try SegmentReader(path, files: files)
            while true {
                // Most lines are of types that nobody asked for: they are not even copied.
                var (kind, isWanted): (LineKind?, Bool) = (nil, false)
                let isThere = try reader.next { octets in
                    kind = LineKind(octets)
                    isWanted = kind.map { types.contains($0.type) } ?? false || LineKind.holdsAnother(octets)
                    if isWanted { parser.text.replace(with: octets) }
                }
                guard isThere else { break }
                unreported += 1
                if unreported == 8192 {
                    lines += unreported
                    position = begin + reader.offset
                    progress(unreported, position)
                    unreported = 0
                }
                guard isWanted else {
                    if kind == nil { damagedLines += 1 }
                    continue
                }
                guard try body(&parser, reader.offset) else { return }
            }
            damagedLines += reader.overlong
            position = begin + reader.offset
        } catch let error as Errno {
            throw EventLogError.readFailed(path.string, error)
        }
        lines += unreported
        progress(unreported, position)
    }

    /// The start of the lines read last, and what it means for their dates: looked up once for each.
    private struct Boot {
        var octets: [UInt8] = []
        var text = ""
        var offset: ClockOffset?
    }

    private static func line(
        _ parser: inout LineParser, _ boot: inout Boot, _ stamping: Restamping
    ) -> LogLine? {
        if !parser.isOf(boot: boot.octets) || boot.text.isEmpty && boot.offset == nil {
            boot.text = parser.boot
            boot.octets = Array(boot.text.utf8)
            boot.offset = stamping.offset(of: String(BootID.machine(of: boot.text)))
        }
        let printed = parser.head.offset
        var offset = boot.offset ?? printed
        // Where the two are the same but for what cutting to microseconds leaves, the date stays as it was printed.
        if offset.nanoseconds.subtractingReportingOverflow(printed.nanoseconds).partialValue.magnitude <= 2000 {
            offset = printed
        }
        var adapter = ""
        let entry: LogLine.Entry?
        switch parser.head.kind {
        case .event:
            let event = parser.event()
            adapter = event?.sighting.map { parser.adapters.name(of: $0.adapter) } ?? ""
            entry = event.map { .event($0) }
        case .visit: entry = parser.visit().map { .visit($0) }
        case .condition: entry = parser.conditionChange().map { .condition($0) }
        case .adapter: entry = parser.adapterChange().map { .adapter($0) }
        case .clock: entry = parser.clockChange().map { .clock($0) }
        case .evidence: entry = parser.evidence().map { .evidence($0) }
        case .ranging, nil: entry = nil
        }
        guard let entry else { return nil }
        return LogLine(
            entry: entry, sequence: parser.head.sequence, boot: boot.text, time: parser.head.time, offset: offset,
            printedOffset: printed, adapter: adapter)
    }
}

/// The type of a line, from its first octets: most lines need no closer look.
enum LineKind {
    case event, visit, condition, adapter, clock, evidence, other

    private static let key: StaticString = "\"type\":\""
    // In an envelope it stands behind topic, qos and retain.
    private static let keyEndMax = 1024
    // What our lines begin with, or their payloads; between the two stands the version, one digit.
    private static let beginning: StaticString = "{\"version\":"
    private static let middle: StaticString = ",\"type\":\""
    private static let envelope: StaticString = "{\"topic\":\""

    init?(_ line: Span<UInt8>) {
        guard let word = Self.typeWord(in: line), word + 3 < line.count else { return nil }
        switch (line[word], line[word + 1], line[word + 2]) {
        case (UInt8(ascii: "e"), UInt8(ascii: "v"), UInt8(ascii: "e")): self = .event
        case (UInt8(ascii: "e"), UInt8(ascii: "v"), UInt8(ascii: "i")): self = .evidence
        case (UInt8(ascii: "v"), _, _): self = .visit
        case (UInt8(ascii: "c"), UInt8(ascii: "o"), _): self = .condition
        case (UInt8(ascii: "c"), UInt8(ascii: "l"), _): self = .clock
        case (UInt8(ascii: "a"), _, _): self = .adapter
        default: self = .other
        }
    }

    /// Where the line's type begins.
    private static func typeWord(in line: Span<UInt8>) -> Int? {
        unsafe line.withUnsafeBytes { octets in
            guard let start = octets.baseAddress else { return nil }
            let end = min(octets.count, keyEndMax)
            let digit = beginning.utf8CodeUnitCount
            let length = digit + 1 + middle.utf8CodeUnitCount
            // Most lines show it behind their second brace; only what was written otherwise is searched through.
            for from in 0..<2 {
                guard let brace = unsafe memchr(start + from, Int32(UInt8(ascii: "{")), max(end - length - from, 0))
                else {
                    break
                }
                let place = UnsafeRawPointer(brace)
                if unsafe memcmp(place, beginning.utf8Start, digit) == 0,
                    unsafe memcmp(place + digit + 1, middle.utf8Start, middle.utf8CodeUnitCount) == 0
                {
                    return unsafe place - start + length
                }
            }
            guard let place = unsafe memmem(start, end, key.utf8Start, key.utf8CodeUnitCount) else { return nil }
            return unsafe UnsafeRawPointer(place) - start + key.utf8CodeUnitCount
        }
    }

    /// Whether another line begins within what stands between two line ends: the end of the one before it is damaged then.
    ///
    /// In what a line says quotation marks are escaped, so neither beginning is a part of it.
    static func holdsAnother(_ octets: Span<UInt8>) -> Bool {
        unsafe octets.withUnsafeBytes { octets in
            guard let start = octets.baseAddress, octets.count > envelope.utf8CodeUnitCount else { return false }
            func holds(_ word: StaticString) -> Bool {
                unsafe memmem(start + 1, octets.count - 1, word.utf8Start, word.utf8CodeUnitCount) != nil
            }
            // An envelope's payload begins as a line without one does.
            let isEnveloped = unsafe memcmp(start, envelope.utf8Start, envelope.utf8CodeUnitCount) == 0
            return holds(envelope) || !isEnveloped && holds(beginning)
        }
    }

    var type: LogReader.Types {
        switch self {
        case .event: .event
        case .visit: .visit
        case .condition: .condition
        case .adapter: .adapter
        case .clock: .clock
        case .evidence: .evidence
        case .other: []
        }
    }
}

extension LineParser {
    /// What an exit rests on, of an `evidence` line.
    func evidence() -> Evidence? {
        guard let event = text.integer(text.find("event", in: payload)), let monitor = string("monitor"),
            let identifier = string("identifier"), let rule = string("rule"), let gaps = text.find("gaps", in: payload)
        else { return nil }
        func duration(_ key: StaticString) -> Duration? {
            text.microseconds(text.find(key, in: gaps)).map { .microseconds($0) }
        }
        return Evidence(
            event: event, monitor: monitor, identifier: identifier, rule: rule, time: head.time,
            clockOffset: head.offset,
            holders: text.elements(of: text.find("holders", in: payload)).compactMap { place in
                guard let adapter = text.string(text.find("adapter", in: place)),
                    let date = text.date(text.find("lastRefresh", in: place)),
                    let listened = text.microseconds(text.find("listened", in: place))
                else { return nil }
                return Evidence.Holder(
                    adapter: adapter, lastRefresh: instant(of: date), listened: .microseconds(listened))
            },
            sightings: text.elements(of: text.find("sightings", in: payload)).compactMap { place in
                guard let adapter = text.string(text.find("adapter", in: place)),
                    let date = text.date(text.find("date", in: place))
                else { return nil }
                return Evidence.Heard(
                    time: instant(of: date), adapter: adapter, rssi: text.rssi(text.find("rssi", in: place)))
            },
            gaps: Evidence.Gaps(
                count: text.integer(text.find("count", in: gaps)) ?? 0, median: duration("median"),
                p99: duration("p99"), maximum: duration("maximum")))
    }
}
