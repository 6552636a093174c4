public import BaseTypes
public import BeaconMonitoring
import JSON
public import SystemPackage

/// A line of the event files, with its corrected date.
public struct LogLine {
    /// The content of a line, by its type.
    public enum Entry: Sendable {
        /// The new state of a subject.
        case event(BeaconMonitor.Event)
        /// A visit that ended.
        case visit(Visit)
        /// A condition that was added, replaced, changed or removed.
        case condition(ConditionChange)
        /// An adapter that started or stopped scanning.
        case adapter(AdapterChange)
        /// A step of the wall clock, or the time when it became synchronized.
        case clock(ClockChange)
        /// A start or stop of the gateway.
        case gateway(GatewayChange)
        /// The evidence of an exit.
        case evidence(Evidence)
        /// A line whose content was erased because it named a forgotten beacon, or a line that reports an erasure.
        case erased
    }

    /// The content of the line.
    public var entry: Entry
    /// The number of the line; `nil` for `evidence`.
    public var sequence: Int?
    /// The name of the gateway that wrote the line.
    public var gateway: String
    /// The boot ID of the start that wrote the line; empty in a replay.
    public var boot: String
    /// The time of the line, on its own timeline.
    public var time: Instant
    /// The clock offset for the dates of the line: the offset from later `clock` lines, or else the printed one.
    public var offset: ClockOffset
    /// The clock offset with which the dates of the line were printed.
    public var printedOffset: ClockOffset
    /// The name of the adapter that received the sighting of the event; empty if there is none.
    public var adapter: String

    /// The date of the line, corrected by later lines.
    public var date: WallDate { WallDate(time, offset: offset) }

    /// Returns the date of a time on the line's timeline. A time before the start of the timeline keeps its printed
    /// date.
    public func date(of instant: Instant) -> WallDate {
        WallDate(instant, offset: instant.nanoseconds < 0 ? printedOffset : offset)
    }
}

extension LogLine {
    /// The type of the line.
    var type: LogReader.Types {
        switch entry {
        case .event: .event
        case .visit: .visit
        case .condition: .condition
        case .adapter: .adapter
        case .clock: .clock
        case .gateway: .gateway
        case .evidence: .evidence
        case .erased: .erased
        }
    }
}

/// Reads event files from the first line to the last, each line once, in constant memory, with dates corrected by later
/// lines.
///
///     var reader = try LogReader(["/var/lib/beacon-gateway/events"])
///     try reader.read([.event, .visit]) { line in
///         if case .visit(let visit) = line.entry { print(line.date, visit.identifier, visit.reason) }
///         return true
///     }
public struct LogReader {
    /// The types of lines to read. All others are skipped.
    public struct Types: OptionSet, Sendable {
        /// The bits of the set.
        public let rawValue: UInt8
        /// Creates a set from its bits.
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
        /// `gateway` lines.
        public static let gateway = Types(rawValue: 64)
        /// `erased` lines.
        public static let erased = Types(rawValue: 128)
    }

    /// The number of damaged lines.
    public private(set) var damagedLines = 0
    /// The places of the first ten damaged lines.
    package private(set) var damages: [Damage] = []
    /// The number of lines of the requested types that a later version of the program wrote. They are skipped.
    public private(set) var newerLines = 0
    /// The number of lines of the requested types that are in the files twice. Each is passed to `body` once.
    public private(set) var repeatedLines = 0
    /// The number of all lines of any type.
    public private(set) var lines = 0
    /// The latest times at which gateways were alive, from the file `alive` of each folder, with corrected dates. Set
    /// by ``read(_:sightings:progress:_:)`` and `dates()`.
    public private(set) var proofs: [Proof] = []
    /// The files `alive` that could not be read, each with the reason.
    public private(set) var proofErrors: [String] = []
    /// The folders without event files.
    public private(set) var emptyFolders: [FilePath] = []
    /// The files or folders that have bytes but no line of a gateway, most likely captures. Empty if `body` stopped the
    /// reading. Set by ``read(_:sightings:progress:_:)``.
    public private(set) var foreignPlaces: [FilePath] = []
    /// The size of all files in bytes.
    public let size: Int
    /// The number of bytes that were read. (Before that, the files were searched for `clock` lines.)
    public private(set) var position = 0

    /// The date at which a gateway was alive.
    public struct Proof: Sendable, Hashable {
        /// The name of the gateway.
        public var gateway: String
        /// The date, corrected by later lines.
        public var date: WallDate
    }

    /// The place of a damaged line.
    package struct Damage: Sendable, Hashable {
        /// The file.
        package var path: FilePath
        /// The number of the line in the file, starting at 1.
        package var line: Int
    }

    /// The result of processing a line.
    private struct Outcome {
        /// Whether to read another line.
        var goesOn = true
        /// Whether all or a part of the line was damaged.
        var isDamaged = false
    }

    private static let damagesMax = 10

    /// A file, and the index of the argument that it comes from.
    struct Source {
        var path: FilePath
        var place: Int
    }

    let places: [FilePath]
    private let folders: [FilePath]
    let sources: [Source]
    let files: any FileSystemCalls
    // The corrections of the clock lines, if `dates` has read them.
    var stamping: Restamping?

    /// Creates a reader of folders and files. The segments of a folder are read in the order of their numbers.
    ///
    /// - Throws: ``EventLogError/readFailed(_:_:)``.
    public init(_ places: [FilePath]) throws(EventLogError) { try self.init(places, files: SystemFiles()) }

    package init(_ places: [FilePath], files: any FileSystemCalls) throws(EventLogError) {
        self.files = files
        var sources: [Source] = []
        var folders: [FilePath] = []
        var size = 0
        for (index, place) in places.enumerated() {
            do throws(Errno) {
                do throws(Errno) {
                    var list = SegmentList()
                    let segments = try list.read(place, files)
                    folders.append(place)
                    if segments.isEmpty { emptyFolders.append(place) }
                    sources += segments.map { Source(path: place.appending($0.name), place: index) }
                } catch .notDirectory {
                    sources.append(Source(path: place, place: index))
                }
            } catch {
                throw .readFailed(place.string, error)
            }
        }
        for path in sources.map(\.path) {
            size += try EventLogError.reading(path, files.size(at: path))
        }
        self.places = places
        self.folders = folders
        self.sources = sources
        self.size = size
    }

    /// Reads the lines of the requested types and passes them to `body` in order.
    ///
    /// - Parameters:
    ///   - types: the types of lines.
    ///   - sightings: whether to read the sightings of events too.
    ///   - progress: called from time to time with the number of further lines and the number of all bytes that were
    ///     read.
    ///   - body: receives a line; returns false to stop.
    /// - Throws: ``EventLogError``, and the errors of `body`.
    public mutating func read(
        _ types: Types, sightings: Bool = true, progress: (Int, Int) -> Void = { _, _ in },
        _ body: (LogLine) throws -> Bool
    ) throws {
        (position, damagedLines, newerLines, repeatedLines, lines) = (0, 0, 0, 0, 0)
        damages = []
        // A second call of this function reads the clock lines again: there may be new ones.
        let stamping = try self.stamping ?? stamp()
        self.stamping = nil
        let paths = sources.map(\.path)
        readProofs(stamping)
        var familiar: Set<Int> = []
        var boot = Boot()
        var parser = LineParser()
        parser.readsAddresses = false
        parser.readsSightings = sightings
        var (goesOn, newer, repeated) = (true, 0, 0)
        var known = RepeatedLines(paths, files)
        for place in paths.indices where goesOn {
            var isFamiliar = familiar.contains(sources[place].place)
            defer { if isFamiliar { familiar.insert(sources[place].place) } }
            try each(paths[place], of: types, &parser, &isFamiliar, progress) { parser, end in
                guard parser.parse() else { return Outcome(isDamaged: true) }
                var outcome = Outcome(isDamaged: parser.passedOver > 0)
                guard parser.head.version <= LineVersion.current else {
                    newer += 1
                    return outcome
                }
                guard let line = Self.line(&parser, &boot, stamping), types.contains(line.type) else { return outcome }
                guard try !known.contain(parser, boot: line.boot, file: place, end: end) else {
                    repeated += 1
                    return outcome
                }
                goesOn = try body(line)
                outcome.goesOn = goesOn
                return outcome
            }
        }
        // If reading was stopped, the rest of the files is not known.
        let strange = goesOn ? Set(sources.map(\.place)).subtracting(familiar).sorted() : []
        foreignPlaces = try strange.filter { try holdsBytes($0) }.map { places[$0] }
        newerLines = newer
        repeatedLines = repeated
    }

    private mutating func readProofs(_ stamping: Restamping) {
        (proofs, proofErrors) = ([], [])
        for folder in folders {
            let path = folder.appending(AliveFile.name)
            do throws(Errno) {
                guard let proof = try AliveFile.read(in: folder, files: files) else {
                    if try WholeFile.read(path, bytesMax: .max, files: files) != nil {
                        proofErrors.append("\(path) is damaged, or was not written by a gateway")
                    }
                    continue
                }
                let offset = stamping.offset(of: String(BootID.machine(of: proof.boot))) ?? proof.offset
                proofs.append(Proof(gateway: proof.gateway, date: WallDate(proof.time, offset: offset)))
            } catch {
                proofErrors.append("\(path) can't be read: \(error)")
            }
        }
    }

    private func holdsBytes(_ place: Int) throws(EventLogError) -> Bool {
        for source in sources where source.place == place {
            if try EventLogError.reading(source.path, files.size(at: source.path)) > 0 { return true }
        }
        return false
    }

    /// Passes each line of the requested types in the parser, not parsed yet, with the offset of its end. A line that
    /// contains another one is passed too, because that one can be of these types.
    private mutating func each(
        _ path: FilePath, of types: Types, _ parser: inout LineParser, _ isFamiliar: inout Bool,
        _ progress: (Int, Int) -> Void,
        _ body: (inout LineParser, Int) throws -> Outcome
    ) throws {
        let begin = position
        var (unreported, number, overlong) = (0, 0, 0)
        do {
            var reader = try SegmentReader(path, files: files)
            while true {
                // Most lines are of types that were not requested. They are not even copied.
                var (type, isWanted): (Types?, Bool) = (nil, false)
                let isThere = try reader.next { bytes in
                    type = LineKind.type(of: bytes)
                    isWanted = type.map { types.contains($0) } ?? false || LineKind.holdsAnother(bytes)
                    // A single line that a gateway wrote makes the file an event file.
                    if isWanted || !isFamiliar && type != nil { parser.text.replace(with: bytes) }
                }
                while overlong < reader.overlong {
                    (number, overlong) = (number + 1, overlong + 1)
                    note(damageIn: path, line: number)
                }
                guard isThere else { break }
                unreported += 1
                number += 1
                if unreported == 8192 {
                    lines += unreported
                    position = begin + reader.offset
                    progress(unreported, position)
                    unreported = 0
                }
                if !isFamiliar, type != nil {
                    var probe = parser
                    isFamiliar = probe.parse()
                }
                guard isWanted else {
                    if type == nil { note(damageIn: path, line: number) }
                    continue
                }
                let outcome = try body(&parser, reader.offset)
                if outcome.isDamaged { note(damageIn: path, line: number) }
                guard outcome.goesOn else { return }
            }
            position = begin + reader.offset
        } catch let error as Errno {
            throw EventLogError.readFailed(path.string, error)
        }
        lines += unreported
        progress(unreported, position)
    }

    private mutating func note(damageIn path: FilePath, line: Int) {
        damagedLines += 1
        if damages.count < Self.damagesMax { damages.append(Damage(path: path, line: line)) }
    }

    /// The gateway and boot ID of the lines that were read last, with their clock offset, so that each is looked up
    /// once.
    struct Boot {
        var gateway = ""
        var gatewayBytes: [UInt8] = []
        var bytes: [UInt8] = []
        var text = ""
        var offset: ClockOffset?
    }

    /// Returns the entry of the parsed line; `nil` if its type has none.
    static func line(
        _ parser: inout LineParser, _ boot: inout Boot, _ stamping: Restamping
    ) -> LogLine? {
        if !parser.isOf(boot: boot.bytes) || boot.text.isEmpty && boot.offset == nil {
            boot.text = parser.boot
            boot.bytes = Array(boot.text.utf8)
            boot.offset = stamping.offset(of: String(BootID.machine(of: boot.text)))
        }
        if !parser.isOf(gateway: boot.gatewayBytes) {
            boot.gateway = parser.gateway
            boot.gatewayBytes = Array(boot.gateway.utf8)
        }
        let printed = parser.head.offset
        var offset = boot.offset ?? printed
        // If the difference results only from rounding down to microseconds, the printed date is kept.
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
        case .gateway: entry = parser.gatewayChange().map { .gateway($0) }
        case .evidence: entry = parser.evidence().map { .evidence($0) }
        case .erased: entry = .erased
        case .ranging, nil: entry = nil
        }
        guard let entry else { return nil }
        return LogLine(
            entry: entry, sequence: parser.head.sequence, gateway: boot.gateway, boot: boot.text,
            time: parser.head.time, offset: offset,
            printedOffset: printed, adapter: adapter)
    }

    // MARK: Dates

    /// Returns the dates of the first line and of the last line or newer proof, corrected by later lines.
    ///
    /// It reads only the ends of the files, and skips a file without a line that has a date. The files of a place are
    /// read in their order. The result is `nil` if no line has a date.
    ///
    /// - Throws: ``EventLogError/readFailed(_:_:)``.
    package mutating func dates() throws(EventLogError) -> (first: WallDate, last: WallDate)? {
        let stamping = try stamp()
        self.stamping = stamping
        readProofs(stamping)
        var dates: [WallDate] = []
        for place in places.indices {
            let paths = sources.filter { $0.place == place }.map(\.path)
            for path in paths {
                guard let date = try date(in: path, from: 0, isLast: false, stamping) else { continue }
                dates.append(date)
                break
            }
            for path in paths.reversed() {
                guard let date = try lastDate(in: path, stamping) else { continue }
                dates.append(date)
                break
            }
        }
        guard let first = dates.min(), let last = (dates + proofs.map(\.date)).max() else { return nil }
        return (first, last)
    }

    /// Returns the date of the last line of a file that has one. It reads from the end, twice as much each time.
    private func lastDate(in path: FilePath, _ stamping: Restamping) throws(EventLogError) -> WallDate? {
        let size = try EventLogError.reading(path, files.size(at: path))
        var length = SegmentReader.window
        while true {
            let start = max(0, size - length)
            if let date = try date(in: path, from: start, isLast: true, stamping) { return date }
            guard start > 0 else { return nil }
            length *= 2
        }
    }

    /// Returns the date of the first or last line that has one, at or after `start`.
    private func date(
        in path: FilePath, from start: Int, isLast: Bool, _ stamping: Restamping
    ) throws(EventLogError) -> WallDate? {
        var parser = LineParser()
        parser.readsAddresses = false
        parser.readsSightings = false
        var boot = Boot()
        var date: WallDate?
        do throws(Errno) {
            var reader = try SegmentReader(path, files: files, from: start)
            while isLast || date == nil, try reader.next(into: &parser.text.bytes) {
                // The rest of a line that starts before `start` is not an object, and is not parsed.
                if parser.parse(), parser.head.version <= LineVersion.current,
                    let line = Self.line(&parser, &boot, stamping)
                {
                    date = line.date
                }
            }
        } catch {
            throw .readFailed(path.string, error)
        }
        return date
    }

    /// Returns the corrections that the clock lines of all files make to the dates before them.
    func stamp() throws(EventLogError) -> Restamping {
        var stamping = Restamping()
        for source in sources { try stamping.note(clockLinesOf: source.path, files) }
        return stamping
    }
}
