package import BeaconMonitoring
package import CommandSupport
package import EventLog
import EventLoops
import Glibc
import OperatorLogging
package import SystemPackage

/// `erase`: has a beacon forgotten, by the files and by the gateway that writes them.
package struct Erasing {
    /// Where, whom, and whether only to see.
    package struct Options {
        /// The folder of event files.
        package var directory: FilePath
        /// Where the gateway keeps its state; absent where the folder is a copy.
        package var stateDirectory: FilePath?
        /// Whom.
        package var request: ErasureRequest
        /// Whether nothing is touched.
        package var isDryRun = false
        /// The conditions of the configuration that are the beacon.
        package var conditions: [String] = []
        /// Where `serve` keeps what files that are over come to; absent where the folder is a copy.
        package var cacheDirectory: FilePath?
        /// A date as messages show it.
        package var dateText: (WallDate) -> String = { "\($0)" }
        /// Whether lines are published to a broker.
        package var isShipped = false
        /// Whether the folder is named alone: a gateway that writes to it has a state that is not known.
        package var isFolderAlone = false

        /// An erasure in a folder of event files.
        package init(_ directory: FilePath, _ request: ErasureRequest) {
            self.directory = directory
            self.request = request
        }
    }

    /// What was done, or would be.
    package struct Outcome {
        /// How many lines were erased, cleared, or found damaged.
        package var counts: ErasureCounts
        /// How many files were written anew.
        package var files: Int
        /// What was done, and what it can't reach, a sentence each.
        package var words: [String]
    }

    private static let program = "beacon-gateway erase"
    // What a publisher keeps; it is the publisher's to change.
    private static let presentStates = "mqtt-state.json"
    // The totals that serve keeps, and the temporary file that a power cut leaves.
    private static let foldNames = ["fold", ".fold.new"]

    private let options: Options

    /// An erasure that has not begun.
    package init(_ options: Options) { self.options = options }

    /// Throws ``ExitFailure`` if an event file of a folder is a symbolic link.
    package static func check(_ directory: FilePath) throws(ExitFailure) {
        do throws(EventLogError) { try EventFilesErasure.check(directory) } catch { throw ExitFailure(error) }
    }

    /// Does it.
    ///
    /// - Returns: what was done, and what it can't reach.
    /// - Throws: ``ExitFailure``; what was done until then is done, and doing it again goes on.
    package func run() throws(ExitFailure) -> Outcome {
        guard SmallFile.isDirectory(options.directory) else {
            throw ExitFailure(
                .inputMissing, "\(options.directory) is not a folder; give the folder with the event files")
        }
        // A dry run too: it fails if the files can't be read.
        try FolderOwner.become(ownerOf: options.directory)
        // Refuses before anything is changed, and before a gateway is asked.
        var erasure = try prepare()
        var (state, running, keepsFold): ([String], Int?, Bool) = ([], nil, false)
        var locks: [StateLock] = []
        defer { for lock in locks { lock.release() } }
        if options.isDryRun {
            state = try forgetState(isRunning: false)
        } else {
            // One at a time: each writes the same temporary file.
            locks.append(try lock { () throws(EventLogError) in try StateLock(erasing: options.directory) })
            do throws(EventLogError) { try erasure.clean() } catch { throw ExitFailure(error) }
            // It is made again from the files. Only root can reach it.
            keepsFold = !FolderOwner.asRealUser { dropFold() }
            running = try lockOrAsk(&locks)
            state = try forgetState(isRunning: running != nil)
        }
        do throws(EventLogError) {
            try erasure.run(upTo: running, isDryRun: options.isDryRun)
        } catch {
            throw ExitFailure(error)
        }
        let notReached =
            keepsFold
            ? ["not erased: the cache of serve in \(options.cacheDirectory?.string ?? ""), until serve runs again"] : []
        return Outcome(
            counts: erasure.counts, files: erasure.files,
            words: report(erasure, state: state, running: running) + notReached)
    }

    /// Lists the event files; fails if one of them, or a file of the state or of the cache, is a symbolic link.
    private func prepare() throws(ExitFailure) -> EventFilesErasure {
        do throws(EventLogError) {
            if let stateDirectory = options.stateDirectory {
                try StateErasure(stateDirectory, options.request).check()
            }
            try checkFold()
            return try EventFilesErasure(options.directory, options.request)
        } catch {
            throw ExitFailure(error)
        }
    }

    /// Throws ``EventLogError/linked(_:target:)`` if a file of the cache is a symbolic link. The folder can be
    /// open to root only.
    private func checkFold() throws(EventLogError) {
        guard let folder = options.cacheDirectory else { return }
        let link: EventLogError? = FolderOwner.asRealUser {
            do throws(EventLogError) {
                try EventFilesErasure.check(Self.foldNames, in: folder)
                return nil
            } catch {
                return error
            }
        }
        if let link { throw link }
    }

    /// Deletes the cached totals of `serve`.
    ///
    /// - Returns: whether none are left.
    private func dropFold() -> Bool {
        guard let folder = options.cacheDirectory else { return true }
        let left = Self.foldNames.filter { name in
            unsafe folder.appending(name).withPlatformString { unsafe unlink($0) } != 0
                && ![ENOENT, ENOTDIR].contains(errno)
        }
        return left.isEmpty
    }

    private func lock(_ body: () throws(EventLogError) -> StateLock) throws(ExitFailure) -> StateLock {
        do throws(EventLogError) { return try body() } catch { throw ExitFailure(error) }
    }

    /// Takes the place of the gateway where none runs; else has the one that runs forget the beacon.
    ///
    /// - Returns: where one runs, the number of the last line in the files that it writes no more.
    private func lockOrAsk(_ locks: inout [StateLock]) throws(ExitFailure) -> Int? {
        do throws(EventLogError) {
            if let stateDirectory = options.stateDirectory, SmallFile.isDirectory(stateDirectory) {
                locks.append(try StateLock(in: stateDirectory, program: Self.program))
            }
            locks.append(try StateLock(events: options.directory, program: Self.program))
            return nil
        } catch {
            guard let stateDirectory = options.stateDirectory, let gateway = RunningGateway(stateDirectory, error)
            else {
                throw ExitFailure(error)
            }
            return try gateway.forget(options.request)
        }
    }

    private func forgetState(isRunning: Bool) throws(ExitFailure) -> [String] {
        guard let stateDirectory = options.stateDirectory else { return [] }
        do throws(EventLogError) {
            var told = try StateErasure(stateDirectory, options.request)
                .run(isDryRun: options.isDryRun, isRunning: isRunning)
            // Only the publisher can delete retained messages at the broker.
            if !isRunning, options.request.before == nil,
                SmallFile.exists(stateDirectory.appending(Self.presentStates))
            {
                if !options.isDryRun { try ForgottenBeacon(options.request.beacon, upTo: 0).add(in: stateDirectory) }
                told.append(Self.presentStates)
            }
            return told
        } catch {
            throw ExitFailure(error)
        }
    }

    // MARK: Words

    /// The message that no line names the beacon; with a date, no line before it.
    private var nothingFound: String {
        guard let before = options.request.before else {
            return "no line in \(options.directory) contains this beacon"
        }
        let words = "no line in \(options.directory) before \(options.dateText(before)) contains this beacon"
        var first: WallDate?
        do throws(EventLogError) {
            var reader = try LogReader([options.directory])
            first = try reader.dates()?.first
        } catch {
            // The erasure has reported a file that cannot be read.
        }
        guard let first, first >= before else { return words }
        return "\(words): the first line is of \(options.dateText(first))"
    }

    private func report(_ erasure: EventFilesErasure, state: [String], running: Int?) -> [String] {
        let counts = erasure.counts
        func done(_ count: Int, _ singular: String, _ plural: String) -> String {
            let words = PlainText.count(count, singular, plural)
            return "\(words) \(options.isDryRun ? "would be" : count == 1 ? "was" : "were")"
        }
        var lines: [String] = []
        if counts.isEmpty, state.isEmpty, running == nil || options.request.before != nil {
            lines.append(nothingFound)
        } else {
            lines.append(
                "\(done(counts.erased, "line of this beacon", "lines of this beacon")) erased, "
                    + "\(done(counts.cleared, "other line", "other lines")) cleared of its identity, in "
                    + PlainText.count(erasure.files, "rewritten file")
                    + (counts.damaged > 0
                        ? "; it was also named in \(PlainText.count(counts.damaged, "damaged place"))" : ""))
        }
        if running != nil {
            lines.append(
                options.request.before == nil
                    ? "the gateway has forgotten it; if it is received again, it is new"
                    : "the gateway keeps the beacon's data from the date of --before on")
        } else if state.contains("state.json") {
            lines.append("state.json \(options.isDryRun ? "names it" : "does not name it any more")")
        }
        for name in state where name != "state.json" && name != Self.presentStates {
            lines.append("\(name) \(options.isDryRun ? "names it and would be" : "named it and was") deleted")
        }
        for identifier in options.conditions {
            lines.append(
                "the configuration monitors exactly this beacon as “\(identifier)”, so new lines name it; remove the "
                    + "condition, reload the gateway, and erase again")
        }
        if state.contains(Self.presentStates), !options.isDryRun {
            lines.append(
                "\(Self.presentStates) names it until a gateway has deleted its retained messages at the broker"
            )
        }
        if options.isFolderAlone {
            lines.append(
                "not erased: the state of a gateway that writes to this folder, and the cache of serve; for these, run "
                    + "erase without a folder")
        }
        if options.isShipped {
            lines.append("not erased: lines that were published to the broker, and the copies of subscribers")
        }
        lines.append("not erased: copies and backups of the folder, and the log of a site that collected its lines")
        lines.append("not erased: the system log; its messages can name beacons until they are deleted")
        lines.append("not erased: captures of beacon-gateway record, and reports in files; delete them")
        return lines
    }
}
