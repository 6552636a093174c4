import BaseTypes
import BeaconMonitoring
import JSON
import SystemPackage

/// Stores `state.json`: decides when to take a snapshot, and reserves numbers of lines in the file.
struct SnapshotKeeper {
    private static let retryInterval: Duration = .seconds(30)

    private let directory: FilePath
    private let files: any FileSystemCalls
    /// Whether the file `restored` exists in the state directory. It is deleted after a snapshot has stored the next
    /// number.
    private var isRestored: Bool
    private var writer: StateFileWriter
    private var schedule: SnapshotSchedule
    private var reservation: NumberReservation
    /// The number of the last line that the last snapshot includes.
    private(set) var sequence: Int
    /// The reason if records cannot be stored at present, for operators.
    private(set) var failure: String?

    /// Continues with the state file that `found` describes.
    init(
        _ found: Journal.Recovery.Finding, _ options: JournalOptions, _ files: any FileSystemCalls, at now: Instant
    ) {
        directory = options.stateDirectory
        self.files = files
        isRestored = found.isRestored
        writer = StateFileWriter(options, files)
        schedule = SnapshotSchedule(
            interval: options.snapshotInterval, size: found.stateSize, lines: found.linesRead, at: now)
        reservation = NumberReservation(found.reservation)
        sequence = found.stateSequence
    }

    // MARK: When

    /// Whether a snapshot must be taken now.
    var isTime: Bool { schedule.isTime }
    /// The time at which the next snapshot is due in any case.
    var due: Instant { schedule.due }

    mutating func advance(to now: Instant) { schedule.advance(to: now) }

    /// Notes bytes that became durable, and how many of their lines the next start would have to read.
    mutating func note(bytes: Int, lines: Int) { schedule.note(bytes: bytes, lines: lines) }

    /// Notes that an event file was closed: takes a snapshot when the lines since the last one are as large as that
    /// snapshot.
    mutating func requestSnapshot() { schedule.requestSnapshot() }

    /// Notes that a snapshot was requested and is about to be stored.
    mutating func begin() { schedule.begin() }

    // MARK: Store

    /// Stores a snapshot. All lines that it includes must be durable.
    ///
    /// - Parameters:
    ///   - state: the state to store. The reservation of numbers is added to it.
    ///   - isEnd: true if every number that was given is in a line.
    ///   - now: the time.
    ///   - tally: counts the writes.
    /// - Returns: true if it is stored. Otherwise the earlier snapshot stays, and storing is tried again.
    mutating func keep(
        _ state: StateFile, isEnd: Bool, at now: Instant, _ tally: inout WriteTally
    ) -> Bool {
        var state = state
        let reserved = reservation.forSnapshot(at: state.sequence, isEnd: isEnd)
        state.reserved = reserved
        do throws(Errno) {
            let size = try writer.write(state, at: now, &tally)
            schedule.isKept(size: size)
            reservation.isKept(reserved)
            sequence = state.sequence
            failure = nil
            if isRestored {
                isRestored = false
                // If the file stays, the next start skips the same count of numbers again.
                try? files.remove(directory.appending(Journal.Recovery.Finding.restoredName))
            }
            return true
        } catch {
            tally.counters.failures += 1
            failure = "records can't be written to \(directory.string): \(error); a restart would lose some"
            schedule.postpone(until: now + Self.retryInterval)
            return false
        }
    }

    /// Reserves numbers: stores the highest reserved number in the file before lines with these numbers are written.
    ///
    /// A start that finds the last lines missing continues after this number (``Journal/Recovery``). If it cannot be
    /// stored, lines are still written (rule N5).
    mutating func reserve(for sequence: Int, at now: Instant, _ tally: inout WriteTally) {
        guard let number = reservation.wanted(for: sequence, at: now) else { return }
        do throws(Errno) {
            try writer.reserve(number, at: now, &tally)
            reservation.isReserved(number)
        } catch {
            tally.counters.failures += 1
            reservation.isRefused(at: now)
        }
    }
}
