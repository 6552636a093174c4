import BaseTypes
import BeaconMonitoring
import CommandSupport
import EventLog
import SystemPackage

/// What tells reports how long the gateway was alive: the lines of its start and its end, and between them the file
/// `alive`, which is overwritten at a wake-up a minute or more after the last time.
///
/// Without it nobody could tell a quiet evening from one in which the gateway was dead.
struct LifeSigns {
    /// How old the file is at least when it is written again.
    static let interval: Duration = .seconds(60)

    private let file: AliveFile
    /// When the run before was last known to be alive; absent where nothing says so.
    private let previous: ProofOfLife?
    /// What can't be read of the run before, for the operator.
    let remark: String?
    private var trouble: Errno?
    /// When the file is to be written again.
    private(set) var due: Instant = .earliest
    /// Why the gateway ends, in words.
    private(set) var ending: String?

    /// Reads what the run before left in `directory`.
    ///
    /// - Parameters:
    ///   - directory: the folder of event files.
    ///   - gateway: the gateway's name.
    ///   - boot: this start.
    ///   - files: the file system: the machine's, unless a test has its own.
    init(
        in directory: FilePath, gateway: Identifier, boot: BootID, files: any FileSystemCalls = SystemFiles()
    ) {
        file = AliveFile(in: directory, gateway: gateway, boot: boot.text, files: files)
        do throws(Errno) {
            previous = try AliveFile.read(in: directory, files: files)
            remark = nil
        } catch {
            previous = nil
            remark =
                "\(directory.appending(AliveFile.name).string) can't be read: \(error); the end of the previous run is "
                + "not known"
        }
    }

    /// Whether somebody has to wake the loop for it: only where the service manager's watchdog does not do so often enough.
    static func needsTimer(watchdogInterval: Duration?) -> Bool { watchdogInterval.map { $0 > interval } ?? true }

    /// That the gateway starts, for the first line.
    ///
    /// - Parameters:
    ///   - configuration: the digest of the configuration's file; absent where it is none.
    ///   - machine: the machine's present start.
    ///   - time: the present.
    ///   - clockOffset: how far the wall clock is ahead of it.
    /// - Returns: what the line says.
    func started(
        _ configuration: String?, machine: String, at time: Instant, clockOffset: ClockOffset
    ) -> GatewayChange {
        let until = previous.map { proof in
            // Before the machine was started, the timeline was another one: the date is what remains.
            if BootID.machine(of: proof.boot) == machine { return min(proof.time, time) }
            return Instant(remembered: proof.date, offset: clockOffset)
        }
        return GatewayChange(
            .started(program: Program.version, configuration: configuration, until: until), at: time,
            clockOffset: clockOffset)
    }

    /// The gateway is to end, for the reason that is told first.
    mutating func end(because reason: String) { ending = ending ?? reason }

    /// That the gateway stops, for the last line.
    func stopped(at time: Instant, clockOffset: ClockOffset) -> GatewayChange {
        GatewayChange(.stopped(reason: ending ?? "stopped by SIGTERM"), at: time, clockOffset: clockOffset)
    }

    /// Writes the file where it is time, or where `isLast`.
    ///
    /// - Returns: what is to be said of it; `nil` where it goes as before.
    mutating func tell(
        at time: Instant, clockOffset: ClockOffset, after sequence: Int, isLast: Bool = false
    ) -> String? {
        guard isLast || time >= due else { return nil }
        due = time + Self.interval
        do throws(Errno) {
            try file.write(at: time, clockOffset: clockOffset, after: sequence)
            guard trouble != nil else { return nil }
            trouble = nil
            return "\(file.path.string) is written again"
        } catch {
            guard trouble != error else { return nil }
            trouble = error
            return
                "\(file.path.string) can't be written: \(error); reports know the state of this gateway only up to its last line"
        }
    }
}
