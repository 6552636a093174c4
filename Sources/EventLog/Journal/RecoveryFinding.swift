import BaseTypes
import BeaconMonitoring
import JSON
import SystemPackage

extension Journal.Recovery {
    /// What the files say, read and not touched but for a state file that is none.
    struct Finding {
        var builder = RecordBuilder()
        var segments: [Segment] = []
        /// The number that `state.json` stands at, and up to which numbers may have been given.
        var stateSequence = 0
        var reserved: Int?
        var stateSize = 0
        var isFirstStart = true
        var linesRead = 0
        var damage = Damage()
        var remarks: [String] = []
        /// The last segment: how long it is, and up to where it is lines.
        var lastName = ""
        var size = 0
        var end = 0
        /// How many lines may have stood in what is no line behind that.
        var lostAtEnd = 0
        /// The greatest number in the lines that were read.
        var greatest = 0
        /// How far lines were shipped, as far as the publisher's file tells.
        var shipped = 0
        /// The number after which numbers go on.
        var sequence = 0
        /// Whether they go on in the last segment.
        var goesOn = true
        /// Whether the folders were restored from a backup.
        var isRestored = false

        private(set) var hasState = false
        // A line of a version that is not known, and nothing after it that is: the version, and the file.
        private var newer: (version: Int, path: String)?

        /// The greatest number that is reserved already.
        var reservation: Int {
            let reserved = reserved ?? 0
            return goesOn || reserved > sequence ? reserved : sequence
        }

        init(_ options: JournalOptions, _ files: any FileSystemCalls) throws(EventLogError) {
            try readState(options, files)
            segments = try Self.segments(in: options.directory, files)
            if !segments.isEmpty { isFirstStart = false }
            // Those that end before the snapshot does have nothing new; the last one is always read.
            let place = segments.lastIndex { $0.begins <= builder.sequence + 1 } ?? 0
            // Of those that begin alike, one is a copy of the other as it was.
            let begin = segments.firstIndex { $0.begins == segments[place].begins } ?? 0
            for index in segments.indices.dropFirst(begin) { try read(index, options, files) }
            if let newer { throw .newerVersion(newer.path, newer.version) }
            shipped = Self.shipped(options, files)
            if shipped > 0 { isFirstStart = false }
            findNumber(options, files)
        }

        private mutating func readState(
            _ options: JournalOptions, _ files: any FileSystemCalls
        ) throws(EventLogError) {
            switch try StateFile.read(from: options.stateDirectory, files) {
            case .absent: return
            case .whole(let state, let size):
                builder = RecordBuilder(state)
                (hasState, stateSequence, reserved) = (true, state.sequence, state.reserved)
                stateSize = size
                // Numbers were reserved, and nothing was kept yet.
                isFirstStart = state.boot.isEmpty
                // Who wrote it may not have lived to synchronise its name, and what is gone on from must not be older after
                // a power cut. Where that can't be done nothing newer is written either (rule N5).
                try? files.synchronizeDirectory(options.stateDirectory)
            case .damaged(let path):
                isFirstStart = false
                let aside = options.stateDirectory.appending(StateFile.name + ".damaged")
                try? files.rename(path, to: aside)
                remarks.append(
                    "\(path.string) is damaged and was renamed to \(aside.string); the event files replace it")
            }
        }

        /// How far a publisher has come. What its file is worth is the publisher's to say.
        private static func shipped(_ options: JournalOptions, _ files: any FileSystemCalls) -> Int {
            let path = options.stateDirectory.appending(ShippingCheckpoint.fileName)
            return (try? ShippingCheckpoint.read(path, files: files))?.position.sequence ?? 0
        }

        /// Ends the visit that the last line ended, where the line that should have told it is missing (rule N3).
        ///
        /// - Returns: the visit, and the number of the last line.
        mutating func endTornVisit(
            machine: String, at now: Instant, offset: ClockOffset
        ) -> (visit: Visit, after: Int)? {
            guard let number = builder.tornSequence,
                let visit = builder.endTornVisit(machine: machine, at: now, offset: offset)
            else { return nil }
            return (visit, number)
        }

        /// The segments of a folder, in the order of their lines.
        static func segments(
            in directory: FilePath, _ files: any FileSystemCalls
        ) throws(EventLogError) -> [Segment] {
            var (segments, list, path): ([Segment], SegmentList, FilePath) = ([], SegmentList(), directory)
            do throws(Errno) {
                segments = try list.read(directory, files)
                for index in segments.indices {
                    path = directory.appending(segments[index].name)
                    let file = try files.openForReading(path)
                    defer { files.close(file) }
                    segments[index].size = try files.size(of: file)
                }
            } catch {
                guard error == .noSuchFileOrDirectory else { throw .readFailed(path.string, error) }
            }
            for segment in segments where max(segment.first, segment.begins) > LinePosition.sequenceMax {
                throw .numberTooGreat(directory.appending(segment.name).string, offset: 0)
            }
            return segments
        }

        /// Reads a segment: every whole line counts, wherever it stands.
        private mutating func read(
            _ index: Int, _ options: JournalOptions, _ files: any FileSystemCalls
        ) throws(EventLogError) {
            let path = options.directory.appending(segments[index].name)
            (lastName, size, end) = (segments[index].name, segments[index].size, 0)
            var parser = LineParser()
            // Where what is no line begins, and how many of such there are.
            var (damaged, count): (Int?, Int) = (nil, 0)
            var offset = 0
            do throws(Errno) {
                var reader = try SegmentReader(path, files: files)
                while true {
                    offset = reader.offset
                    guard try reader.next(into: &parser.text.bytes) else { break }
                    guard parser.parse() else {
                        if parser.numberIsTooGreat { throw .outOfRange }
                        if damaged == nil { damaged = offset }
                        count += 1
                        continue
                    }
                    // Where a line's end is damaged, the next one stands behind what is left of it.
                    let begin = reader.offset - 1 - parser.text.bytes.count
                    if begin > offset, damaged == nil { damaged = offset }
                    if begin > offset { count += 1 }
                    if let start = damaged {
                        damage.note(lastName, start..<begin, lines: count)
                        (damaged, count) = (nil, 0)
                    }
                    end = reader.offset
                    guard parser.head.version <= LineVersion.current else {
                        newer = (parser.head.version, path.string)
                        continue
                    }
                    // One line among others that are known is of no newer version but damaged.
                    if newer != nil { damage.note(lastName, nil, lines: 1) }
                    newer = nil
                    guard let sequence = parser.head.sequence else { continue }
                    greatest = max(greatest, sequence)
                    guard sequence > builder.sequence else { continue }
                    linesRead += 1
                    builder.apply(&parser)
                }
                if reader.overlong > 0 { damage.note(lastName, nil, lines: reader.overlong) }
                if index == segments.count - 1 {
                    lostAtEnd = try Self.linesLost(in: path, end..<size, files)
                } else if let damaged {
                    damage.note(lastName, damaged..<reader.offset, lines: count)
                }
            } catch {
                if error == .outOfRange { throw .numberTooGreat(path.string, offset: offset) }
                throw .readFailed(path.string, error)
            }
        }
    }
}

// With which number the next line begins: no number is ever given twice.
extension Journal.Recovery.Finding {
    // No line of ours is shorter.
    private static let lineMin = 128
    // A torn line at the end of a file is not longer; more is looked at no further.
    private static let endMax = 1 << 20

    /// How many lines may have stood behind the last whole one of a file, in what is none.
    ///
    /// Somebody who is killed while writing leaves the beginning of a line. Zeros, and ends of lines, are what is left where
    /// there was more: it may have been on the disk, and shipped.
    static func linesLost(
        in path: FilePath, _ place: Range<Int>, _ files: any FileSystemCalls
    ) throws(Errno) -> Int {
        guard !place.isEmpty else { return 0 }
        let file = try files.openForReading(path)
        defer { files.close(file) }
        var bytes: [UInt8] = []
        while bytes.count < min(place.count, endMax) {
            let count = min(place.count - bytes.count, 64 << 10)
            if try files.read(file, at: place.lowerBound + bytes.count, count: count, appendingTo: &bytes) == 0 {
                break
            }
        }
        let isTornAlone = place.count <= endMax && !bytes.contains { $0 == 0 || $0 == 0x0A }
        return isTornAlone ? 0 : place.count / lineMin + 1
    }

    /// The file that says in a state directory that all of it was restored from a backup.
    static let restoredName = "restored"
    // What a gateway may have written since a backup: a year at 30 lines a second.
    static let restoredGap = 1_000_000_000

    /// Numbers go on after the greatest that is seen anywhere; where lines are missing at the end, after all that may have
    /// been given; after a restored backup far behind all that may have been given since it was made.
    mutating func findNumber(_ options: JournalOptions, _ files: any FileSystemCalls) {
        findNumberInFiles(options, files)
        if !segments.isEmpty, files.isLink(options.directory.appending(lastName)) {
            // Its target is outside the folder: readers read it, and it is not changed.
            goesOn = false
        }
        let marker = options.stateDirectory.appending(Self.restoredName)
        guard let names = try? files.names(in: options.stateDirectory), names.contains(Self.restoredName),
            sequence <= LinePosition.sequenceMax / 2
        else { return }
        (isRestored, goesOn) = (true, false)
        sequence += Self.restoredGap
        remarks.append(
            "\(marker.string) says that this is a backup: the sequence numbers since then are not known, so they "
                + "continue with \(sequence + 1)")
    }

    private mutating func findNumberInFiles(_ options: JournalOptions, _ files: any FileSystemCalls) {
        let inFiles = segments.reduce(greatest) { max($0, $1.first - 1) }
        sequence = max(inFiles, stateSequence, shipped)
        let isComplete = sequence == inFiles
        goesOn = isComplete
        if isComplete, lostAtEnd > 0 {
            // The end stays as it is, and another segment begins: nothing but what stands there tells of the numbers.
            sequence += lostAtEnd
            goesOn = false
            remarks.append(
                "after the last complete line of \(lastName), up to \(lostAtEnd) lines can be lost, so sequence numbers "
                    + "continue with \(sequence + 1)")
        }
        let link = options.directory.appending("current")
        // It is a link of ours, or shows nothing.
        let named = (try? files.target(of: link)).flatMap { Segment(name: $0) }
        let isThere = segments.contains { $0.name == named?.name }
        guard !isThere || !isComplete, let behind = given(after: named, isComplete, options) else { return }
        goesOn = false
        let why =
            if let named, !isThere {
                "\(named.name), which was written to last, is missing"
            } else {
                isThere ? "the last lines are missing" : "\(link.string) is missing, and event files can be missing too"
            }
        remarks.append(
            "\(why): lines \(sequence + 1) to \(behind) may have been written, so sequence numbers continue with \(behind + 1)"
        )
        sequence = behind
    }

    /// The last number that may have been given where lines are missing at the end; `nil` where nothing more can have been.
    private func given(after named: Segment?, _ isComplete: Bool, _ options: JournalOptions) -> Int? {
        if let reserved { return reserved > max(stateSequence, sequence) ? reserved : nil }
        // A file of an earlier version reserved nothing; and where neither it nor `current` is there, as with files that
        // were copied to another machine, nothing tells that lines are missing.
        guard !hasState, named != nil || !isComplete else { return nil }
        return max(sequence, (named?.first ?? 1) - 1) + options.rotateSize / Self.lineMin
    }
}

extension Journal.Recovery {
    /// What was found that is no line, said of the first places.
    struct Damage {
        private static let remarksMax = 20

        private(set) var lines = 0
        private var places: [String] = []
        private var more = 0

        /// Notes what stands at a place in a segment, as far as that is known.
        mutating func note(_ name: String, _ place: Range<Int>?, lines count: Int) {
            lines += count
            guard places.count < Self.remarksMax else {
                more += 1
                return
            }
            guard let place else {
                let lines = count == 1 ? "1 damaged line was" : "\(count) damaged lines were"
                return places.append("\(name): \(lines) skipped")
            }
            places.append(
                "\(name): bytes \(place.lowerBound) to \(place.upperBound) are damaged and were skipped; all lines "
                    + "after them are kept")
        }

        /// For operators, one sentence each.
        var remarks: [String] {
            more > 0 ? places + ["\(more == 1 ? "1 more place is" : "\(more) more places are") damaged"] : places
        }
    }
}
