import BaseTypes
import BeaconMonitoring
import JSON
import SystemPackage

/// Keeps `state.json`: when it is time for a snapshot, what the file says beside it, and which numbers are reserved there.
struct SnapshotKeeper {
    private static let retryInterval: Duration = .seconds(30)

    private let directory: FilePath
    private let files: any FileSystemCalls
    /// Whether a file says that all of this was restored, which holds until a snapshot says where numbers go on.
    private var isRestored: Bool
    private var writer: StateFileWriter
    private var schedule: SnapshotSchedule
    private var reservation: NumberReservation
    /// The number that the last snapshot stands at.
    private(set) var sequence: Int
    /// Why records can't be kept at present, for operators.
    private(set) var trouble: String?

    /// Goes on with the file that `found` tells of.
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

    /// Whether it is time for one.
    var isTime: Bool { schedule.isTime }
    /// When one is due, whatever happens.
    var due: Instant { schedule.due }

    mutating func advance(to now: Instant) { schedule.advance(to: now) }

    /// Lines have become durable, of which a start would read `lines`.
    mutating func note(octets: Int, lines: Int) { schedule.note(octets: octets, lines: lines) }

    /// A segment was closed: one is wanted when lines weigh as much as it does.
    mutating func wish() { schedule.wish() }

    /// One was asked for, and is to come now.
    mutating func begin() { schedule.begin() }

    // MARK: What

    /// Keeps a snapshot, where all lines that led to it are durable.
    ///
    /// - Parameters:
    ///   - state: what is kept; numbers are reserved in it besides.
    ///   - isEnd: whether no number can have been given that no line tells of.
    ///   - now: the present.
    ///   - tally: what counts it.
    /// - Returns: whether it is kept; where not, the one before stands, and it is tried again.
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
            trouble = nil
            if isRestored {
                isRestored = false
                // Where it stays, the next start leaves out as many numbers again.
                try? files.remove(directory.appending(Journal.Recovery.Finding.restoredName))
            }
            return true
        } catch {
            tally.counters.failures += 1
            trouble = "records can't be written to \(directory.string): \(error); a restart would lose some"
            schedule.isPutOff(until: now + Self.retryInterval)
            return false
        }
    }

    /// Says in the file, before any of them is written, up to which number lines may come to stand somewhere.
    ///
    /// Whoever finds the last lines gone goes on behind it (``Journal/Recovery``). That it can't be said is no reason not
    /// to keep lines (rule N5).
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
