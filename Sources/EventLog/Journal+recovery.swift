public import BeaconMonitoring
import BluetoothLE
import SystemPackage

extension Journal {
    /// What a journal found when it was opened.
    public struct Recovery: Sendable {
        /// What the engine begins from (rule N4); absent at a first start.
        public var snapshot: MonitorSnapshot?
        /// The number of the last line.
        public var sequence: Int
        /// How far the wall clock was ahead when the last line was written, and whether it was known to be set; absent
        /// where the machine was started since, and its timeline is another.
        public var clock: (offset: ClockOffset, isSynchronized: Bool)?
        /// How many lines were read that the snapshot did not have.
        public var linesRead: Int
        /// How many octets of a torn end were cut off.
        public var tornOctets: Int
        /// Lines that could not be made sense of, and were passed over.
        public var damagedLines: Int
        /// What operators should know, one sentence each.
        public var remarks: [String]

        init(_ found: Finding, machine: String) {
            let builder = found.builder
            let isNew = found.isFirstStart
            snapshot = isNew ? nil : builder.snapshot(machine: machine)
            sequence = builder.sequence
            let isSameMachine = !isNew && BootID.machine(of: builder.boot) == machine
            clock = isSameMachine ? (builder.offset, builder.isSynchronized ?? false) : nil
            linesRead = found.linesRead
            tornOctets = found.size - found.end
            damagedLines = found.damagedLines
            remarks = found.remarks
            if tornOctets > 0 {
                remarks.append("\(tornOctets) octets of a line that was not finished were cut off \(found.lastName)")
            }
            if damagedLines > 0 { remarks.append("\(damagedLines) lines are damaged and were passed over") }
        }
    }
}

extension Journal.Recovery {
    /// What the files say, read and not touched but for a state file that is none.
    struct Finding {
        var builder = RecordBuilder()
        var segments: [Segment] = []
        var stateSequence = 0
        var isFirstStart = true
        var linesRead = 0
        var damagedLines = 0
        var remarks: [String] = []
        /// The last segment: how long it is, and up to where it is lines.
        var lastName = ""
        var size = 0
        var end = 0

        // A leaving event that stands last without its visit: its number and its place.
        private var torn: (sequence: Int, offset: Int)?

        init(_ options: JournalOptions, _ files: any FileSystemCalls) throws(EventLogError) {
            try self.init(options, files, upTo: .max)
            guard let torn, builder.isTorn, builder.sequence == torn.sequence else { return }
            // The two belong together: without its visit the event was not there (rule N3), and is determined again.
            let size = size
            self = try Self(options, files, upTo: torn.sequence - 1)
            self.size = size
            end = torn.offset
        }

        private init(
            _ options: JournalOptions, _ files: any FileSystemCalls, upTo limit: Int
        ) throws(EventLogError) {
            try readState(options, files)
            segments = try Self.segments(in: options.directory, files)
            if !segments.isEmpty { isFirstStart = false }
            // Those that end before the snapshot does have nothing new; the last one is always read.
            let begin = segments.lastIndex { $0.first <= builder.sequence + 1 } ?? 0
            for index in segments.indices.dropFirst(begin) {
                try read(index, options, files, upTo: limit)
            }
        }

        private mutating func readState(
            _ options: JournalOptions, _ files: any FileSystemCalls
        ) throws(EventLogError) {
            let path = options.stateDirectory.appending(Journal.stateName)
            guard let bytes = try Self.contents(of: path, files) else { return }
            isFirstStart = false
            do throws(StateFile.Problem) {
                let state = try StateFile(parsing: bytes)
                builder = RecordBuilder(state)
                stateSequence = state.sequence
            } catch .newer(let version) {
                throw .newerVersion(path.string, version)
            } catch {
                let aside = options.stateDirectory.appending(Journal.stateName + ".damaged")
                try? files.rename(path, to: aside)
                remarks.append(
                    "\(path.string) is damaged and was put aside as \(aside.string); the event files stand in for it")
            }
        }

        private static func contents(
            of path: FilePath, _ files: any FileSystemCalls
        ) throws(EventLogError) -> [UInt8]? {
            do throws(Errno) {
                let file = try files.openForReading(path)
                defer { files.close(file) }
                let size = min(try files.size(of: file), JSONText.sizeMax)
                var bytes: [UInt8] = []
                while bytes.count < size {
                    let count = min(size - bytes.count, 1 << 20)
                    if try files.read(file, at: bytes.count, count: count, appendingTo: &bytes) == 0 { break }
                }
                return bytes
            } catch {
                guard error == .noSuchFileOrDirectory else { throw .readFailed(path.string, error) }
                return nil
            }
        }

        /// The segments of a folder, in the order of their lines.
        static func segments(
            in directory: FilePath, _ files: any FileSystemCalls
        ) throws(EventLogError) -> [Segment] {
            var segments: [Segment] = []
            do throws(Errno) {
                segments = try files.names(in: directory).compactMap { Segment(name: $0) }
                segments.sort(by: Segment.precedes)
                for index in segments.indices {
                    let file = try files.openForReading(directory.appending(segments[index].name))
                    defer { files.close(file) }
                    segments[index].size = try files.size(of: file)
                }
            } catch {
                guard error == .noSuchFileOrDirectory else { throw .readFailed(directory.string, error) }
            }
            return segments
        }

        private mutating func read(
            _ index: Int, _ options: JournalOptions, _ files: any FileSystemCalls, upTo limit: Int
        ) throws(EventLogError) {
            let path = options.directory.appending(segments[index].name)
            let isLast = index == segments.count - 1
            lastName = segments[index].name
            size = segments[index].size
            end = 0
            var (damaged, number) = (0, 0)
            do throws(Errno) {
                var reader = try SegmentReader(path, files: files)
                var parser = LineParser()
                while true {
                    let offset = reader.offset
                    guard try reader.next(into: &parser.text.bytes) else { break }
                    guard parser.parse() else {
                        // Zeros are what a power cut leaves of what was not on the disk; what follows was not either.
                        if isLast, parser.text.bytes.contains(0) { break }
                        damaged += 1
                        continue
                    }
                    guard parser.head.version <= LineVersion.current else { throw .notSupported }
                    if let sequence = parser.head.sequence {
                        // Nor was what stands behind lines that were written in its place.
                        if sequence > limit || isLast && sequence <= number { break }
                        number = sequence
                        if sequence > builder.sequence { take(&parser, at: offset) }
                    }
                    end = reader.offset
                    damagedLines += damaged
                    damaged = 0
                }
                damagedLines += reader.overlong
            } catch {
                if error == .notSupported { throw .newerVersion(path.string, LineVersion.current + 1) }
                throw .readFailed(path.string, error)
            }
        }

        private mutating func take(_ parser: inout LineParser, at offset: Int) {
            linesRead += 1
            let wasTorn = builder.isTorn
            builder.apply(&parser)
            if builder.isTorn, !wasTorn { torn = (builder.sequence, offset) }
            if !builder.isTorn { torn = nil }
        }
    }
}

extension Journal {
    /// Goes on with the last segment, its torn end cut off; where it can't be written to, the next line opens another.
    func continueSegment(_ found: Recovery.Finding) {
        guard let last = segments.indices.last else { return }
        var file: FileSystemCalls.Handle = -1
        do throws(Errno) {
            file = try files.open(options.directory.appending(found.lastName), isNew: false)
            if found.size > found.end { try files.truncate(file, to: found.end) }
            // What the process before wrote and did not live to synchronise was taken for durable when it was read.
            try files.synchronize(file)
            try files.synchronizeDirectory(options.directory)
            noteSynchronization()
            noteSynchronization()
            segments[last].size = found.end
            let (age, overflow) = WallDate(now, offset: clockOffset).microseconds
                .subtractingReportingOverflow(segments[last].date.microseconds)
            let isKnown = !overflow && age > 0 && isClockSynchronized
            let left = isKnown ? options.rotateInterval - .microseconds(age) : options.rotateInterval
            open = Open(name: found.lastName, file: file, durable: found.end, rotateAt: now + max(left, .zero))
            linkIsStale = true
            refreshLink()
        } catch {
            if file >= 0 { files.close(file) }
            recovery.remarks.append(
                "\(found.lastName) can't be written to: \(error); the next line begins another file")
        }
    }
}
