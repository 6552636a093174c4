import BaseTypes
import BeaconMonitoring
import EventLog
import EventLoops
import Reports
import SystemPackage

/// Follows the event files of a gateway, some lines a turn, so that nobody waits for a year of them.
final class Following {
    /// What the lines come to: the reports' own books, and counts.
    struct State: Sendable {
        var present = PresentFold()
        var counts = LineCounts()
    }

    // What is read in a turn takes some milliseconds.
    private static let linesPerTurn = 500
    // Writes that come one after the other are one wake.
    private static let gathering: Duration = .milliseconds(50)
    // What is kept is marked, and only a turn later written: whoever puts files in place of others has been heard of then.
    private static let keepingDelay: Duration = .seconds(1)
    // Where nothing can be watched yet: a folder that is still to be made.
    private static let retry: Duration = .seconds(2)

    /// What is to be shown.
    private(set) var state = State()
    /// Whether all that the files hold has been read once.
    private(set) var isCurrent = false
    /// Why they can't be read; absent while they can.
    private(set) var trouble: EventLogError?
    /// Numbers whose lines are missing, and lines that could not be made sense of.
    private(set) var missed = 0
    private(set) var damaged = 0
    /// Another one whenever what is to be shown is.
    private(set) var version = 0
    /// Another number whenever all is read again since files were replaced: lines that were read before may be erased.
    private(set) var reading = 0
    /// Called when lines have come, or can't be read any more.
    var changed: () -> Void = {}

    /// The folder.
    let directory: FilePath
    private let loop: EventLoop
    private var follower: LineFollower
    private var dating = LineDating()
    /// Another number whenever the path leads to another folder, or to none.
    private(set) var folder = 0
    // Whether a file or the folder is gone; false again once that was looked at.
    private var (isFileGone, isFolderGone) = (false, false)
    // What is read anew, since a `clock` line put dates right; what was read before is shown meanwhile.
    private var anew: State?
    // The lines that came last, since all was read for the first time.
    private var latest = LineTail(after: 0)
    private var message = LineMessage(prefix: "")
    private var line: [UInt8] = []
    private var watch: DirectoryWatch?
    private var timer: EventLoop.Timer?
    private let file: FoldFile?
    // What the files up to the present one came to, until it is kept; and by what these are known again.
    private var finished: FoldFile.Fold?
    private var marks: (segment: String, marks: [SegmentMark])?
    private var keeping: EventLoop.Timer?
    // The file of the line that was noted last, how many came before it, and what was known of them.
    private var segment = ""
    private var filesBefore = 0
    private var (missedBefore, damagedBefore) = (0, 0)

    /// Reads on behind what `file` has kept, else from the first line on, once the loop turns.
    init(_ directory: FilePath, keptIn file: FoldFile? = nil, on loop: EventLoop) {
        (self.directory, self.loop, self.file) = (directory, loop, file)
        if let fold = file?.read() {
            (state, dating, segment, filesBefore) = (fold.state, fold.dating, fold.position.segment, fold.files)
            (missedBefore, damagedBefore) = (fold.missed, fold.damaged)
            follower = LineFollower(directory, from: fold.position)
        } else {
            follower = LineFollower(directory, from: LinePosition(sequence: 0))
        }
        timer = loop.makeTimer { [unowned self] _ in read() }
        if let timer { loop.set(timer, at: loop.now) }
        if file != nil { keeping = loop.makeTimer { [unowned self] _ in keep() } }
    }

    deinit {
        if let timer { loop.end(timer) }
        if let keeping { loop.end(keeping) }
    }

    /// Whether dates are being put right: what is shown is as it was told before.
    var isReading: Bool { !isCurrent || anew != nil }

    /// The last line that is shown, and where the next one begins as far as that is known.
    var end: LinePosition {
        isReading ? LinePosition(sequence: state.counts.sequence) : follower.position
    }

    /// The lines that came last; absent while files are read again, where others may stand by then.
    var tail: LineTail? { isReading ? nil : latest }

    /// When the gateway was alive beside its lines; absent where nothing says so, or what does can't be read.
    var proof: LogReader.Proof? {
        // What can't be read says nothing of life.
        ((try? AliveFile.read(in: directory)) ?? nil).map { dating.proof($0) }
    }

    /// Has all read again if the path does not lead to the folder that is watched any more. The kernel does not report every
    /// such change.
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
        let known = trouble
        do throws(EventLogError) {
            try watchFolder()
            let isAtEnd = try readLines()
            trouble = nil
            if isAtEnd { finish() }
            if !isAtEnd || anew != nil { loop.set(timer, at: loop.now) }
        } catch {
            trouble = error
            loop.set(timer, at: loop.now + Self.retry)
        }
        version += 1
        if isCurrent || trouble != known { changed() }
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

    /// Reads the lines of a turn.
    ///
    /// - Returns: whether there are no more.
    private func readLines() throws(EventLogError) -> Bool {
        do throws(Errno) {
            // Files are deleted by age, but never the last one.
            if isFileGone, try !follower.hasFile() { begin() }
            isFileGone = false
            for _ in 0..<Self.linesPerTurn {
                let (before, missed, damaged) = (follower.position.sequence, follower.missed, follower.damaged)
                guard try follower.next(into: &line, upTo: LinePosition.sequenceMax, &message) else { return true }
                if follower.position.segment != segment {
                    // What is missing or damaged between two files counts for neither.
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
        if anew == nil {
            note(&state)
        } else if var anew {
            self.anew = nil
            note(&anew)
            self.anew = anew
        }
    }

    /// All that there is has been read.
    private func finish() {
        if let read = anew {
            state = read
            anew = nil
        }
        (missed, damaged) = (missedBefore + follower.missed, damagedBefore + follower.damaged)
        if !isCurrent { latest = LineTail(after: follower.position.sequence) }
        isCurrent = true
        guard dating.isOutdated else {
            if let keeping, finished != nil, loop.time(of: keeping) == nil {
                loop.set(keeping, at: loop.now + Self.keepingDelay)
            }
            return
        }
        dating.beginAnew()
        anew = State()
        rewind()
    }

    private func rewind() {
        follower = LineFollower(directory, from: LinePosition(sequence: 0))
        (finished, marks, segment, filesBefore, missedBefore, damagedBefore) = (nil, nil, "", 0, 0, 0)
    }

    /// The first line of another file has come, and has not been noted; `last`: the number of the last line before it.
    private func noteEnd(_ last: Int, isClean: Bool) {
        defer { segment = follower.position.segment }
        guard !segment.isEmpty else { return }
        filesBefore += 1
        guard file != nil, isClean, !dating.isOutdated else { return }
        finished = FoldFile.Fold(
            state: anew ?? state, dating: dating,
            position: LinePosition(sequence: last, segment: follower.position.segment),
            missed: missedBefore + follower.missed, damaged: damagedBefore + follower.damaged, files: filesBefore)
    }

    /// Marks the files of what is finished, and keeps it once all who put files in place of others have been heard.
    private func keep() {
        guard let file, let keeping, let finished else { return }
        if let marks, marks.segment == finished.position.segment {
            file.write(finished, marks.marks)
            (self.finished, self.marks) = (nil, nil)
            return
        }
        let segment = finished.position.segment
        guard let marks = (try? SegmentMark.marks(before: segment, in: directory)) ?? nil,
            marks.count == finished.files
        else {
            // Some are gone, which the fold still has: it is of no files that there are.
            self.finished = nil
            return file.drop()
        }
        self.marks = (segment, marks)
        loop.set(keeping, at: loop.now + Self.keepingDelay)
    }

    /// Everything from the first line: what was told before may have been erased, and is not to be shown any more.
    private func begin() {
        reading += 1
        state = State()
        anew = nil
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
    /// The answer while event files can't be read.
    init(_ error: EventLogError) {
        self.init(
            503, "\(error)",
            hint:
                "check that the folder exists and that the server can read it; the server then continues automatically",
            retryAfter: 2)
    }
}
