package import BeaconMonitoring
package import CommandSupport
package import EventLog
import EventLoops
import Glibc
import OperatorLogging
package import SystemPackage

/// The command `erase`: erases a beacon from the event files, and from the gateway that writes them.
package struct Erasing {
    /// The folders, the beacon, and whether only to report the effect.
    package struct Options {
        /// The folder of event files.
        package var directory: FilePath
        /// The state directory of the gateway; `nil` if the folder is a copy.
        package var stateDirectory: FilePath?
        /// The beacon to erase, with an optional date limit.
        package var request: ErasureRequest
        /// Whether nothing is changed.
        package var isDryRun = false
        /// The identifiers of the conditions in the configuration that match exactly this beacon.
        package var conditions: [String] = []
        /// The folder in which `serve` caches the totals of closed segments; `nil` if the folder is a copy.
        package var cacheDirectory: FilePath?
        /// Returns a date in the form for messages.
        package var dateText: (WallDate) -> String = { "\($0)" }
        /// Whether lines are published to a broker.
        package var publishesLines = false
        /// Whether only the folder was given. If a gateway writes to it, the state of that gateway is not known.
        package var isFolderAlone = false

        /// Creates the options of an erasure in a folder of event files.
        package init(_ directory: FilePath, _ request: ErasureRequest) {
            self.directory = directory
            self.request = request
        }
    }

    /// The result of an erasure, or for a dry run the result that the erasure would have.
    package struct Outcome {
        /// How many lines were erased or cleared, and how many damaged places were found.
        package var counts: ErasureCounts
        /// The number of files that were written again.
        package var files: Int
        /// The result, and the data that this command cannot erase, in one sentence each.
        package var words: [String]
    }

    private static let program = "beacon-gateway erase"
    // The stored state of the publisher. Only the publisher may change it.
    private static let presentStates = "mqtt-state.json"
    // The cached totals of `serve`, and the temporary file that a power failure leaves.
    private static let totalsFileNames = ["fold", ".fold.new"]

    private let options: Options

    /// Creates an erasure without starting it.
    package init(_ options: Options) { self.options = options }

    /// Throws ``ExitFailure`` if an event file of a folder is a symbolic link.
    package static func check(_ directory: FilePath) throws(ExitFailure) {
        do throws(EventLogError) { try EventFilesErasure.check(directory) } catch { throw ExitFailure(error) }
    }

    /// Erases the beacon, or with `isDryRun` only counts the lines.
    ///
    /// - Returns: the result, and the data that this command cannot erase.
    /// - Throws: ``ExitFailure``. Earlier changes remain. If it is run again, it continues.
    package func run() throws(ExitFailure) -> Outcome {
        guard SmallFile.isDirectory(options.directory) else {
            throw ExitFailure(
                .inputMissing, "\(options.directory) is not a folder; give the folder with the event files")
        }
        // Also for a dry run, which must fail if the files cannot be read.
        try FolderOwner.become(ownerOf: options.directory)
        // This must fail before anything is changed, and before a gateway is asked.
        var erasure = try prepare()
        var (state, running, totalsRemain): ([String], Int?, Bool) = ([], nil, false)
        var locks: [StateLock] = []
        defer { for lock in locks { lock.release() } }
        if options.isDryRun {
            state = try forgetState(isRunning: false)
        } else {
            // Only one erasure can run at a time, because each one writes the same temporary file.
            locks.append(try lock { () throws(EventLogError) in try StateLock(erasing: options.directory) })
            do throws(EventLogError) { try erasure.clean() } catch { throw ExitFailure(error) }
            // `serve` makes the cache again from the files. Sometimes only root can access it.
            totalsRemain = !FolderOwner.asRealUser { deleteTotals() }
            running = try lockOrAsk(&locks)
            state = try forgetState(isRunning: running != nil)
        }
        do throws(EventLogError) {
            try erasure.run(upTo: running, isDryRun: options.isDryRun)
        } catch {
            throw ExitFailure(error)
        }
        let notReached =
            totalsRemain
            ? ["not erased: the cache of serve in \(options.cacheDirectory?.string ?? ""), until serve runs again"] : []
        return Outcome(
            counts: erasure.counts, files: erasure.files,
            words: report(erasure, state: state, running: running) + notReached)
    }

    /// Lists the event files. Throws if one of them, or a file of the state or of the cache, is a symbolic link.
    private func prepare() throws(ExitFailure) -> EventFilesErasure {
        do throws(EventLogError) {
            if let stateDirectory = options.stateDirectory {
                try StateErasure(stateDirectory, options.request).check()
            }
            try checkTotalsFiles()
            return try EventFilesErasure(options.directory, options.request)
        } catch {
            throw ExitFailure(error)
        }
    }

    /// Throws ``EventLogError/linked(_:target:)`` if a file of the cache is a symbolic link. Sometimes only root can
    /// access the folder.
    private func checkTotalsFiles() throws(EventLogError) {
        guard let folder = options.cacheDirectory else { return }
        let link: EventLogError? = FolderOwner.asRealUser {
            do throws(EventLogError) {
                try EventFilesErasure.check(Self.totalsFileNames, in: folder)
                return nil
            } catch {
                return error
            }
        }
        if let link { throw link }
    }

    /// Deletes the cached totals of `serve`.
    ///
    /// - Returns: whether none remain.
    private func deleteTotals() -> Bool {
        guard let folder = options.cacheDirectory else { return true }
        let left = Self.totalsFileNames.filter { name in
            unsafe folder.appending(name).withPlatformString { unsafe unlink($0) } != 0
                && ![ENOENT, ENOTDIR].contains(errno)
        }
        return left.isEmpty
    }

    private func lock(_ body: () throws(EventLogError) -> StateLock) throws(ExitFailure) -> StateLock {
        do throws(EventLogError) { return try body() } catch { throw ExitFailure(error) }
    }

    /// Locks the folders if no gateway runs. Otherwise it asks the running gateway to forget the beacon.
    ///
    /// - Returns: the sequence number of the last line in the files to which the running gateway does not write any
    ///   more; `nil` if none runs.
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
            var reported = try StateErasure(stateDirectory, options.request)
                .run(isDryRun: options.isDryRun, isRunning: isRunning)
            // Only the publisher can delete retained messages at the broker.
            if !isRunning, options.request.before == nil,
                SmallFile.exists(stateDirectory.appending(Self.presentStates))
            {
                if !options.isDryRun { try ErasedBeacon(options.request.beacon, upTo: 0).add(in: stateDirectory) }
                reported.append(Self.presentStates)
            }
            return reported
        } catch {
            throw ExitFailure(error)
        }
    }

    // MARK: Messages

    /// The message that no line contains the beacon. If there is a date limit, it is about the lines before it.
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
            // The erasure has already reported a file that cannot be read.
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
        if options.publishesLines {
            lines.append("not erased: lines that were published to the broker, and the copies of subscribers")
        }
        lines.append("not erased: copies and backups of the folder, and the log of a site that collected its lines")
        lines.append("not erased: the system log; its messages can name beacons until they are deleted")
        lines.append("not erased: captures of beacon-gateway record, and reports in files; delete them")
        return lines
    }
}
