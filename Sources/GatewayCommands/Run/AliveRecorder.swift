import BaseTypes
import BeaconMonitoring
import CommandSupport
import EventLog
import SystemPackage

/// Records how long the gateway was alive, for reports: with lines for its start and end, and between them with the
/// file `alive`. The file is overwritten at the first wake-up a minute or more after it was last written.
///
/// Without this, reports could not distinguish a quiet evening from one in which the gateway did not run.
struct AliveRecorder {
    /// The minimum age of the file before it is written again.
    static let interval: Duration = .seconds(60)

    private let file: AliveFile
    /// When the previous run was last known to be alive; `nil` if that is not known.
    private let previous: ProofOfLife?
    /// The error of reading the file of the previous run, for the operator; `nil` if there is none.
    let remark: String?
    private var failure: Errno?
    /// When the file must be written again.
    private(set) var due: Instant = .earliest
    /// Why the gateway ends, for people.
    private(set) var ending: String?

    /// Reads the file that the previous run wrote in `directory`.
    ///
    /// - Parameters:
    ///   - directory: the folder of event files.
    ///   - gateway: the name of the gateway.
    ///   - boot: the present start.
    ///   - files: the file system: that of the machine, unless a test has another.
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

    /// Returns whether a timer must wake the loop to write the file. That is so unless the watchdog of the service
    /// manager wakes it often enough.
    static func needsTimer(watchdogInterval: Duration?) -> Bool { watchdogInterval.map { $0 > interval } ?? true }

    /// Returns the content of the first line, which reports the start.
    ///
    /// - Parameters:
    ///   - configuration: the digest of the configuration file; `nil` if it cannot be computed.
    ///   - machine: the present start of the machine.
    ///   - time: the present.
    ///   - clockOffset: how far the wall clock is ahead of the timeline.
    /// - Returns: the content of the line.
    func started(
        _ configuration: String?, machine: String, at time: Instant, clockOffset: ClockOffset
    ) -> GatewayChange {
        let until = previous.map { proof in
            // If the machine was restarted since then, the timeline is another one, and only the date can be used.
            if BootID.machine(of: proof.boot) == machine { return min(proof.time, time) }
            return Instant(remembered: proof.date, offset: clockOffset)
        }
        return GatewayChange(
            .started(program: Program.version, configuration: configuration, until: until), at: time,
            clockOffset: clockOffset)
    }

    /// Sets the reason why the gateway ends, unless one is set already.
    mutating func end(because reason: String) { ending = ending ?? reason }

    /// Returns the content of the last line, which reports the stop.
    func stopped(at time: Instant, clockOffset: ClockOffset) -> GatewayChange {
        GatewayChange(.stopped(reason: ending ?? "stopped by SIGTERM"), at: time, clockOffset: clockOffset)
    }

    /// Writes the file if it is due, or if `isLast` is set.
    ///
    /// - Returns: a message for the operator if writing fails with a new error, or works again; `nil` otherwise.
    mutating func writeIfDue(
        at time: Instant, clockOffset: ClockOffset, after sequence: Int, isLast: Bool = false
    ) -> String? {
        guard isLast || time >= due else { return nil }
        due = time + Self.interval
        do throws(Errno) {
            try file.write(at: time, clockOffset: clockOffset, after: sequence)
            guard failure != nil else { return nil }
            failure = nil
            return "\(file.path.string) is written again"
        } catch {
            guard failure != error else { return nil }
            failure = error
            return
                "\(file.path.string) can't be written: \(error); reports know the state of this gateway only up to its last line"
        }
    }
}
