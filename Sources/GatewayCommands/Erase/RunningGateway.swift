import BaseTypes
import BeaconMonitoring
import CommandSupport
import EventLog
import EventLoops
import Glibc
import SystemPackage

/// A gateway that runs and is asked to forget a beacon: by a file in its state directory, and SIGUSR1.
struct RunningGateway {
    // A start reads what was written before it answers.
    private static let patience: Duration = .seconds(120)
    private static let interval: Duration = .milliseconds(50)

    let process: Int32
    let stateDirectory: FilePath

    /// The gateway that has a state directory; `nil` where none has it.
    ///
    /// - Parameters:
    ///   - stateDirectory: the directory.
    ///   - error: what the lock said that another has.
    init?(_ stateDirectory: FilePath, _ error: EventLogError) {
        guard case .inUse(_, let holder, _) = error, let process = Self.process(of: holder) else { return nil }
        (self.process, self.stateDirectory) = (process, stateDirectory)
    }

    /// The process of `beacon-gateway run, process 1234`.
    static func process(of holder: String) -> Int32? {
        guard holder.hasPrefix("beacon-gateway run, process ") else { return nil }
        return holder.split(separator: " ").last.flatMap { Int32($0) }.flatMap { $0 > 1 ? $0 : nil }
    }

    /// Asks it, and waits until it has answered.
    ///
    /// - Returns: the number of the last line of the event files that it writes no more.
    /// - Throws: ``ExitFailure`` where it did not, or could not.
    func forget(_ request: ErasureRequest) throws(ExitFailure) -> Int {
        do throws(EventLogError) { try ErasureOrder.wanted(request).write(in: stateDirectory) } catch {
            throw ExitFailure(error)
        }
        guard kill(process, SIGUSR1) == 0 else {
            let failure = Errno(rawValue: errno)
            // It ended just now, or is somebody else's: nobody shall find the order later.
            try? ErasureOrder.remove(from: stateDirectory)
            throw ExitFailure(
                failure == .notPermitted ? .noPermission : .serviceUnavailable,
                "the gateway (process \(process)) can't be notified: \(failure); run the command as its user, or as root"
            )
        }
        let answer = try answer()
        do throws(EventLogError) { try ErasureOrder.remove(from: stateDirectory) } catch { throw ExitFailure(error) }
        switch answer {
        case .done(let number): return number
        case .refused(let why): throw ExitFailure(.cannotWrite, "the gateway has not forgotten it: \(why); try again")
        case .wanted, nil:
            throw ExitFailure(
                .serviceUnavailable,
                "the gateway (process \(process)) has not answered within \(Self.patience.components.seconds) s; read its "
                    + "log, and try again")
        }
    }

    private func answer() throws(ExitFailure) -> ErasureOrder? {
        var (answer, trouble): (ErasureOrder?, ExitFailure?) = (nil, nil)
        do throws(Errno) {
            let loop = try EventLoop()
            let end = loop.now + Self.patience
            var timer: EventLoop.Timer?
            timer = loop.makeTimer { now in
                do throws(EventLogError) {
                    answer = try ErasureOrder.read(from: stateDirectory)
                } catch {
                    trouble = ExitFailure(error)
                }
                if case .wanted? = answer, trouble == nil, now < end {
                    if let timer { loop.set(timer, at: now + Self.interval) }
                } else {
                    loop.stop()
                }
            }
            if let timer { loop.set(timer, at: loop.now) }
            try loop.run()
        } catch {
            throw ExitFailure(.failed, "the process can't wait for the gateway: \(error)")
        }
        if let trouble { throw trouble }
        return answer
    }
}
