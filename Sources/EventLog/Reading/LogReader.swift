public import BaseTypes
public import BeaconMonitoring
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
        /// The gateway was started or stopped.
        case gateway(GatewayChange)
        /// What an exit rests on.
        case evidence(Evidence)
        /// Something that was taken back: what stood here named a beacon that was to be forgotten.
        case erased
    }

    /// What the line tells, by its type.
    public var entry: Entry
    /// Its number; absent in `evidence`.
    public var sequence: Int?
    /// The gateway that wrote it.
    public var gateway: String
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
    /// The type of line, as one asks for it.
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
        /// `gateway` lines.
        public static let gateway = Types(rawValue: 64)
        /// `erased` lines.
        public static let erased = Types(rawValue: 128)
    }

    /// What the reader met that no line could be made of.
    public private(set) var damagedLines = 0
    /// Where the first of these are; ten at most.
    package private(set) var damages: [Damage] = []
    /// Lines of the types asked for that a later version of the program wrote, and that were passed over.
    public private(set) var newerLines = 0
    /// Lines of the types asked for that stand in the files twice, and were handed over once.
    public private(set) var repeatedLines = 0
    /// Lines that were there, whatever their type.
    public private(set) var lines = 0
    /// The newest proofs that gateways were alive beside their lines: what `alive` says in each folder, with its date put
    /// right; known once lines are read.
    public private(set) var proofs: [Proof] = []
    /// Files `alive` that could not be made sense of, each with what is wrong with it.
    public private(set) var proofTroubles: [String] = []
    /// The folders in which no event file stands.
    public private(set) var emptyFolders: [FilePath] = []
    /// The files, or folders, with octets but without a single line of a gateway's: captures, most likely. Known once lines
    /// are read.
    public private(set) var foreignPlaces: [FilePath] = []
    /// How many octets all files have.
    public let size: Int
    /// How many of them have been read. (They were looked through for `clock` lines before.)
    public private(set) var position = 0

    /// That a gateway was alive at a date.
    public struct Proof: Sendable, Hashable {
        /// The gateway's name.
        public var gateway: String
        /// When, by the wall clock as later lines correct it.
        public var date: WallDate
    }

    /// A line that no sense could be made of.
    package struct Damage: Sendable, Hashable {
        /// The file.
        package var path: FilePath
        /// Which of its lines, from 1.
        package var line: Int
    }

    /// What became of a line.
    private struct Outcome {
        /// Whether there is to be another one.
        var goesOn = true
        /// Whether it was damaged, wholly or in a part.
        var isDamaged = false
    }

    private static let damagesMax = 10

    /// A file, and the place on the command line that brought it.
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

    /// A reader of the segments in folders, in the order of their numbers, and of files as they are given.
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
        // Where it was ended, the rest is not known.
        let strange = goesOn ? Set(sources.map(\.place)).subtracting(familiar).sorted() : []
        foreignPlaces = try strange.filter { try holdsOctets($0) }.map { places[$0] }
        newerLines = newer
        repeatedLines = repeated
    }

    private mutating func readProofs(_ stamping: Restamping) {
        (proofs, proofTroubles) = ([], [])
        for folder in folders {
            let path = folder.appending(AliveFile.name)
            do throws(Errno) {
                guard let proof = try AliveFile.read(in: folder, files: files) else {
                    if try WholeFile.read(path, octetsMax: .max, files: files) != nil {
                        proofTroubles.append("\(path) is damaged, or was not written by a gateway")
                    }
                    continue
                }
                let offset = stamping.offset(of: String(BootID.machine(of: proof.boot))) ?? proof.offset
                proofs.append(Proof(gateway: proof.gateway, date: WallDate(proof.time, offset: offset)))
            } catch {
                proofTroubles.append("\(path) can't be read: \(error)")
            }
        }
    }

    private func holdsOctets(_ place: Int) throws(EventLogError) -> Bool {
        for source in sources where source.place == place {
            if try EventLogError.reading(source.path, files.size(at: source.path)) > 0 { return true }
        }
        return false
    }

    /// Hands over each line of the types asked for in the parser, which has not parsed it, with where it ends in the file;
    /// and what holds another line, since that one may be of these types.
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
                // Most lines are of types that nobody asked for: they are not even copied.
                var (type, isWanted): (Types?, Bool) = (nil, false)
                let isThere = try reader.next { octets in
                    type = LineKind.type(of: octets)
                    isWanted = type.map { types.contains($0) } ?? false || LineKind.holdsAnother(octets)
                    // One line that a gateway wrote makes it a file of lines.
                    if isWanted || !isFamiliar && type != nil { parser.text.replace(with: octets) }
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

    /// The gateway and the start of the lines read last, and what it means for their dates: looked up once for each.
    struct Boot {
        var gateway = ""
        var gatewayOctets: [UInt8] = []
        var octets: [UInt8] = []
        var text = ""
        var offset: ClockOffset?
    }

    /// The line that a parser has parsed; `nil` where it is of no type that has an entry.
    static func line(
        _ parser: inout LineParser, _ boot: inout Boot, _ stamping: Restamping
    ) -> LogLine? {
        if !parser.isOf(boot: boot.octets) || boot.text.isEmpty && boot.offset == nil {
            boot.text = parser.boot
            boot.octets = Array(boot.text.utf8)
            boot.offset = stamping.offset(of: String(BootID.machine(of: boot.text)))
        }
        if !parser.isOf(gateway: boot.gatewayOctets) {
            boot.gateway = parser.gateway
            boot.gatewayOctets = Array(boot.gateway.utf8)
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

    /// Returns the dates of the first line and of the last line or newer proof, by the wall clock as later lines correct it.
    ///
    /// It reads the ends of the files; a file without a line that has a date is passed over. The files of a place are taken in
    /// their order. The result is `nil` if no line has a date.
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

    /// Returns the date of the first line from a place on that has one, or of the last.
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
