import BaseTypes
import BeaconMonitoring
import JSON
import SystemPackage

extension Journal.Recovery {
    /// The content of the files. They are not changed, except that a damaged state file is renamed.
    struct Finding {
        var builder = RecordBuilder()
        var segments: [Segment] = []
        /// The number of the line to which `state.json` belongs, and the last number that can have been used.
        var stateSequence = 0
        var reserved: Int?
        var stateSize = 0
        var isFirstStart = true
        var linesRead = 0
        var damage = Damage()
        var remarks: [String] = []
        /// The last segment: its size, and the end of its valid lines.
        var lastName = ""
        var size = 0
        var end = 0
        /// The number of lines that can have been in the invalid data after that.
        var lostAtEnd = 0
        /// The greatest number in the lines that were read.
        var greatest = 0
        /// The last published line, as far as the publisher's file shows it.
        var publishedSequence = 0
        /// The number after which numbers continue.
        var sequence = 0
        /// Whether the last segment is continued.
        var continuesLastSegment = true
        /// Whether the folders were restored from a backup.
        var isRestored = false

        private(set) var hasState = false
        // The version and the file of a line with an unknown version, if no line with a known one follows.
        private var newer: (version: Int, path: String)?

        /// The greatest number that is already reserved.
        var reservation: Int {
            let reserved = reserved ?? 0
            return continuesLastSegment || reserved > sequence ? reserved : sequence
        }

        init(_ options: JournalOptions, _ files: any FileSystemCalls) throws(EventLogError) {
            try readState(options, files)
            segments = try Self.segments(in: options.directory, files)
            if !segments.isEmpty { isFirstStart = false }
            // Segments that end before the snapshot have no new lines. The last one is always read.
            let place = segments.lastIndex { $0.begins <= builder.sequence + 1 } ?? 0
            // If several start with the same line, one is an older copy of the other.
            let begin = segments.firstIndex { $0.begins == segments[place].begins } ?? 0
            for index in segments.indices.dropFirst(begin) { try read(index, options, files) }
            if let newer { throw .newerVersion(newer.path, newer.version) }
            publishedSequence = Self.publishedSequence(options, files)
            if publishedSequence > 0 { isFirstStart = false }
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
                // Numbers were reserved, but nothing was stored yet.
                isFirstStart = state.boot.isEmpty
                // The program that wrote it may have ended before it synchronized the folder, and this start must not
                // continue from a file that a power failure replaces by an older one. If this fails, nothing newer is
                // written either (rule N5).
                try? files.synchronizeDirectory(options.stateDirectory)
            case .damaged(let path):
                isFirstStart = false
                let aside = options.stateDirectory.appending(StateFile.name + ".damaged")
                try? files.rename(path, to: aside)
                remarks.append(
                    "\(path.string) is damaged and was renamed to \(aside.string); the event files replace it")
            }
        }

        /// Returns the progress of the publisher; 0 if its file cannot be used, which the publisher reports itself.
        private static func publishedSequence(_ options: JournalOptions, _ files: any FileSystemCalls) -> Int {
            let path = options.stateDirectory.appending(PublishingCheckpoint.fileName)
            return (try? PublishingCheckpoint.read(path, files: files))?.position.sequence ?? 0
        }

        /// Ends the visit that the last line ended, if its line is missing (rule N3).
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

        /// Returns the segments of a folder, in the order of their lines.
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

        /// Reads a segment. Every complete line counts, also after damaged data.
        private mutating func read(
            _ index: Int, _ options: JournalOptions, _ files: any FileSystemCalls
        ) throws(EventLogError) {
            let path = options.directory.appending(segments[index].name)
            (lastName, size, end) = (segments[index].name, segments[index].size, 0)
            var parser = LineParser()
            // The start of invalid data, and the number of invalid lines in it.
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
                    // If the end of a line is damaged, the next line follows the rest of it.
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
                    // A line with a later version before lines with a known one is damaged.
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

// The number of the next line. No number must be used twice.
extension Journal.Recovery.Finding {
    // No line of this project is shorter.
    private static let lineMin = 128
    // An incomplete line at the end of a file is not longer. Further bytes are not read.
    private static let endMax = 1 << 20

    /// Returns the number of lines that can have been in the invalid data after the last complete line of a file.
    ///
    /// A process that is killed while writing leaves the start of a line. Zeros and line ends are the rest of more
    /// lines, which can have been on the disk and published.
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

    /// The name of a file in the state directory that marks a restored backup.
    static let restoredName = "restored"
    // The number of lines that a gateway can have written since a backup: a year with 30 lines per second.
    static let restoredGap = 1_000_000_000

    /// Determines the number after which numbers continue: the greatest one in any file. If lines are missing at the
    /// end, it is the last number that can have been used. After a restored backup, it is the last number that can have
    /// been used since.
    mutating func findNumber(_ options: JournalOptions, _ files: any FileSystemCalls) {
        findNumberInFiles(options, files)
        if !segments.isEmpty, files.isLink(options.directory.appending(lastName)) {
            // Its target is outside the folder: readers read it, but it must not be changed.
            continuesLastSegment = false
        }
        let marker = options.stateDirectory.appending(Self.restoredName)
        guard let names = try? files.names(in: options.stateDirectory), names.contains(Self.restoredName),
            sequence <= LinePosition.sequenceMax / 2
        else { return }
        (isRestored, continuesLastSegment) = (true, false)
        sequence += Self.restoredGap
        remarks.append(
            "\(marker.string) says that this is a backup: the sequence numbers since then are not known, so they "
                + "continue with \(sequence + 1)")
    }

    private mutating func findNumberInFiles(_ options: JournalOptions, _ files: any FileSystemCalls) {
        let inFiles = segments.reduce(greatest) { max($0, $1.first - 1) }
        sequence = max(inFiles, stateSequence, publishedSequence)
        let isComplete = sequence == inFiles
        continuesLastSegment = isComplete
        if isComplete, lostAtEnd > 0 {
            // The end stays unchanged and a new segment starts, because only these data show that numbers were used.
            sequence += lostAtEnd
            continuesLastSegment = false
            remarks.append(
                "after the last complete line of \(lastName), up to \(lostAtEnd) lines can be lost, so sequence numbers "
                    + "continue with \(sequence + 1)")
        }
        let link = options.directory.appending("current")
        // It is a link of this project, or it is ignored.
        let named = (try? files.target(of: link)).flatMap { Segment(name: $0) }
        let isThere = segments.contains { $0.name == named?.name }
        guard !isThere || !isComplete, let behind = given(after: named, isComplete, options) else { return }
        continuesLastSegment = false
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

    /// Returns the last number that can have been used if lines are missing at the end; `nil` if no more can have been
    /// used.
    private func given(after named: Segment?, _ isComplete: Bool, _ options: JournalOptions) -> Int? {
        if let reserved { return reserved > max(stateSequence, sequence) ? reserved : nil }
        // A state file of an earlier version reserved nothing. If there is neither a state file nor `current`, as with
        // files that were copied to another machine, nothing shows that lines are missing.
        guard !hasState, named != nil || !isComplete else { return nil }
        return max(sequence, (named?.first ?? 1) - 1) + options.rotateSize / Self.lineMin
    }
}

extension Journal.Recovery {
    /// The invalid data that were found, with the first places.
    struct Damage {
        private static let remarksMax = 20

        private(set) var lines = 0
        private var places: [String] = []
        private var more = 0

        /// Records invalid data, with their place in a segment if it is known.
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

        /// Remarks for operators.
        var remarks: [String] {
            more > 0 ? places + ["\(more == 1 ? "1 more place is" : "\(more) more places are") damaged"] : places
        }
    }
}
