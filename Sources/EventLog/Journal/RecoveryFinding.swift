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
                    "\(path.string) is damaged and was put aside as \(aside.string); the event files stand in for it")
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
