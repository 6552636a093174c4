import BaseTypes
import BeaconMonitoring
import EventLog
import EventLoops
import Reports
import SystemPackage

/// Follows the event files of a gateway. Each turn of the loop reads a limited number of lines, so that clients are
/// answered while a year of them is read.
final class Following {
    /// The totals of the lines: the state from which reports are made, and counts.
    struct State: Sendable {
        var present = LivePresence()
        var counts = LineCounts()
    }

    // The maximum number of lines in one turn of the loop. Reading them takes some milliseconds.
    private static let linesPerTurn = 500
    // Several writes within this time cause only one read.
    private static let gathering: Duration = .milliseconds(50)
    // The delay before the totals of closed files are marked, and again before they are stored. If a program replaces
    // files meanwhile, the loop receives this event first and discards the totals.
    private static let storeDelay: Duration = .seconds(1)
    // The delay after an error, for example if the folder does not exist yet and cannot be watched.
    private static let retry: Duration = .seconds(2)

    /// The totals that clients get.
    private(set) var state = State()
    /// Whether all lines of the files have been read once.
    private(set) var isCurrent = false
    /// The reason why the files cannot be read; `nil` if they can.
    private(set) var failure: EventLogError?
    /// The number of sequence numbers without a line, and of lines that could not be parsed.
    private(set) var missed = 0
    private(set) var damaged = 0
    /// A number that changes whenever the content of answers can have changed.
    private(set) var version = 0
    /// A number that changes when all files are read again because files were replaced. Lines that were read before can
    /// be erased.
    private(set) var reading = 0
    /// Called after each turn of reading while ``isCurrent`` is true; before that, only when ``failure`` changes.
    var changed: () -> Void = {}

    /// The folder of the event files.
    let directory: FilePath
    private let loop: EventLoop
    private var follower: LineFollower
    private var dating = LineDating()
    /// A number that changes when the path leads to another folder, or to none.
    private(set) var folder = 0
    // Whether a file or the folder was removed and this is not handled yet.
    private var (isFileGone, isFolderGone) = (false, false)
    // The totals of the second reading after a `clock` line corrected dates. Until it is complete, `state` has the
    // totals of the first one.
    private var rereadState: State?
    // The lines that were read last, since all lines were read for the first time.
    private var latest = LineTail(after: 0)
    private var message = LineMessage(prefix: "")
    private var line: [UInt8] = []
    private var watch: DirectoryWatch?
    private var timer: EventLoop.Timer?
    private let file: TotalsCache?
    // The totals of the files before the current one, until they are stored, and the marks of these files.
    private var finished: TotalsCache.Totals?
    private var marks: (segment: String, marks: [SegmentMark])?
    private var storeTimer: EventLoop.Timer?
    // The file of the last line, and the number of files before it. Then the counts of missing and damaged lines in the
    // totals that were read from the cache, 0 without them; `follower` counts those that come after them.
    private var segment = ""
    private var filesBefore = 0
    private var (missedBefore, damagedBefore) = (0, 0)

    /// Creates a follower that continues after the totals in `file`, or else starts at the first line. It reads when
    /// the loop runs.
    init(_ directory: FilePath, storedIn file: TotalsCache? = nil, on loop: EventLoop) {
        (self.directory, self.loop, self.file) = (directory, loop, file)
        if let totals = file?.read() {
            (state, dating, segment, filesBefore) = (totals.state, totals.dating, totals.position.segment, totals.files)
            (missedBefore, damagedBefore) = (totals.missed, totals.damaged)
            follower = LineFollower(directory, from: totals.position)
        } else {
            follower = LineFollower(directory, from: LinePosition(sequence: 0))
        }
        timer = loop.makeTimer { [unowned self] _ in read() }
        if let timer { loop.set(timer, at: loop.now) }
        if file != nil { storeTimer = loop.makeTimer { [unowned self] _ in keep() } }
    }

    deinit {
        if let timer { loop.end(timer) }
        if let storeTimer { loop.end(storeTimer) }
    }

    /// Whether not all lines have been read yet: for the first time, again because files were replaced or removed, or
    /// again to correct dates. Only in the last case, ``state`` has the complete earlier totals.
    var isReading: Bool { !isCurrent || rereadState != nil }

    /// The last line in ``state``, and the place of the next line if that is known.
    var end: LinePosition {
        isReading ? LinePosition(sequence: state.counts.sequence) : follower.position
    }

    /// The lines that were read last; `nil` if ``isReading``, because the files can change until all lines are read
    /// again.
    var tail: LineTail? { isReading ? nil : latest }

    /// The last time at which the gateway was alive, from the file `alive` next to its lines; `nil` if this file is
    /// missing or cannot be read.
    var proof: LogReader.Proof? {
        // A file that cannot be read does not prove anything.
        ((try? AliveFile.read(in: directory)) ?? nil).map { dating.proof($0) }
    }

    /// Reads all lines again if the path no longer leads to the watched folder. The kernel does not report every such
    /// change.
    func checkFolder() {
        guard !isFolderGone, let watch, !watch.isStill(directory) else { return }
        note(.gone)
        if let timer { loop.set(timer, at: loop.now) }
    }

    private func note(_ changes: DirectoryWatch.Changes) {
        if changes.contains(.removed) { isFileGone = true }
        if changes.contains(.gone) {
            isFolderGone = true
            folder += 1
        }
        if !changes.isDisjoint(with: [.replaced, .gone]) { begin() }
    }

    private func read() {
        guard let timer else { return }
        let known = failure
        do throws(EventLogError) {
            try watchFolder()
            let isAtEnd = try readLines()
            failure = nil
            if isAtEnd { finish() }
            if !isAtEnd || rereadState != nil { loop.set(timer, at: loop.now) }
        } catch {
            failure = error
            loop.set(timer, at: loop.now + Self.retry)
        }
        version += 1
        if isCurrent || failure != known { changed() }
    }

    private func watchFolder() throws(EventLogError) {
        if isFolderGone { (isFolderGone, watch) = (false, nil) }
        guard watch == nil else { return }
        watch = try EventLogError.reading(
            directory,
            DirectoryWatch(directory, on: loop) { [unowned self] changes in
                note(changes)
                soon()
            })
    }

    /// Reads the lines of one turn.
    ///
    /// - Returns: `true` if there are no more lines.
    private func readLines() throws(EventLogError) -> Bool {
        do throws(Errno) {
            // Retention deletes old files, but never the last one. So if the file at this position was removed, all
            // files are read again.
            if isFileGone, try !follower.hasFile() { begin() }
            isFileGone = false
            for _ in 0..<Self.linesPerTurn {
                let (before, missed, damaged) = (follower.position.sequence, follower.missed, follower.damaged)
                guard try follower.next(into: &line, upTo: LinePosition.sequenceMax, &message) else { return true }
                if follower.position.segment != segment {
                    // Lines that are missing or damaged between two files do not belong clearly to either, so these
                    // totals are not stored.
                    noteEnd(before, isClean: (missed, damaged) == (follower.missed, follower.damaged))
                }
                note()
                if isCurrent { latest.note(line, message, missed: follower.missed - missed) }
            }
            return false
        } catch {
            throw follower.failure(error)
        }
    }

    private func note() {
        guard let (head, line) = dating.read(line) else { return }
        func note(_ state: inout State) {
            state.counts.note(head, line)
            if let line { state.present.note(line) }
        }
        if rereadState == nil {
            note(&state)
        } else if var rereadState {
            self.rereadState = nil
            note(&rereadState)
            self.rereadState = rereadState
        }
    }

    /// Handles that all available lines have been read.
    private func finish() {
        if let read = rereadState {
            state = read
            rereadState = nil
        }
        (missed, damaged) = (missedBefore + follower.missed, damagedBefore + follower.damaged)
        if !isCurrent { latest = LineTail(after: follower.position.sequence) }
        isCurrent = true
        guard dating.isOutdated else {
            if let storeTimer, finished != nil, loop.time(of: storeTimer) == nil {
                loop.set(storeTimer, at: loop.now + Self.storeDelay)
            }
            return
        }
        dating.prepareForRereading()
        rereadState = State()
        rewind()
    }

    private func rewind() {
        follower = LineFollower(directory, from: LinePosition(sequence: 0))
        (finished, marks, segment, filesBefore, missedBefore, damagedBefore) = (nil, nil, "", 0, 0, 0)
    }

    /// Records the totals of the previous files when the first line of another file was read, before that line is
    /// counted. `last` is the number of the line before it.
    private func noteEnd(_ last: Int, isClean: Bool) {
        defer { segment = follower.position.segment }
        guard !segment.isEmpty else { return }
        filesBefore += 1
        guard file != nil, isClean, !dating.isOutdated else { return }
        finished = TotalsCache.Totals(
            state: rereadState ?? state, dating: dating,
            position: LinePosition(sequence: last, segment: follower.position.segment),
            missed: missedBefore + follower.missed, damaged: damagedBefore + follower.damaged, files: filesBefore)
    }

    /// Marks the files of the finished totals. Stores the totals at the next call, when all events of replaced files
    /// have been received.
    private func keep() {
        guard let file, let storeTimer, let finished else { return }
        if let marks, marks.segment == finished.position.segment {
            file.write(finished, marks.marks)
            (self.finished, self.marks) = (nil, nil)
            return
        }
        let segment = finished.position.segment
        guard let marks = (try? SegmentMark.marks(before: segment, in: directory)) ?? nil,
            marks.count == finished.files
        else {
            // Files were deleted whose lines are in the totals, so these do not match the existing files.
            self.finished = nil
            return file.drop()
        }
        self.marks = (segment, marks)
        loop.set(storeTimer, at: loop.now + Self.storeDelay)
    }

    /// Starts again at the first line, and discards all totals: lines that were read before can be erased, and must not
    /// be shown.
    private func begin() {
        reading += 1
        state = State()
        rereadState = nil
        dating = LineDating()
        rewind()
        file?.drop()
        isCurrent = false
    }

    private func soon() {
        guard let timer else { return }
        let time = loop.now + Self.gathering
        if loop.time(of: timer).map({ $0 > time }) ?? true { loop.set(timer, at: time) }
    }
}

extension HTTPProblem {
    /// Creates the answer while event files cannot be read.
    init(_ error: EventLogError) {
        self.init(
            503, "\(error)",
            hint:
                "check that the folder exists and that the server can read it; the server then continues automatically",
            retryAfter: 2)
    }
}
