import BaseTypes
import BeaconMonitoring
import CommandSupport
import EventLog
import EventLoops
import Glibc
import SystemPackage

/// A running gateway that is asked to forget a beacon, with a file in its state directory and SIGUSR1.
struct RunningGateway {
    // A gateway that starts must read its stored files before it answers.
    private static let patience: Duration = .seconds(120)
    private static let interval: Duration = .milliseconds(50)

    let process: Int32
    let stateDirectory: FilePath

    /// Finds the gateway that uses a state directory; `nil` if no gateway does.
    ///
    /// - Parameters:
    ///   - stateDirectory: the directory.
    ///   - error: the error of the lock that another process has.
    init?(_ stateDirectory: FilePath, _ error: EventLogError) {
        guard case .inUse(_, let holder, _) = error, let process = Self.process(of: holder) else { return nil }
        (self.process, self.stateDirectory) = (process, stateDirectory)
    }

    /// Returns the process ID in a text such as `beacon-gateway run, process 1234`; `nil` for other programs.
    static func process(of holder: String) -> Int32? {
        guard holder.hasPrefix("beacon-gateway run, process ") else { return nil }
        return holder.split(separator: " ").last.flatMap { Int32($0) }.flatMap { $0 > 1 ? $0 : nil }
    }

    /// Sends the request, and waits for the answer for at most 120 s.
    ///
    /// - Returns: the sequence number of the last line in the event files to which the gateway does not write any more.
    /// - Throws: ``ExitFailure`` if the gateway could not be asked, refused, or did not answer.
    func forget(_ request: ErasureRequest) throws(ExitFailure) -> Int {
        do throws(EventLogError) { try ErasureOrder.wanted(request).write(in: stateDirectory) } catch {
            throw ExitFailure(error)
        }
        guard kill(process, SIGUSR1) == 0 else {
            let failure = Errno(rawValue: errno)
            // The gateway has just ended, or belongs to another user. A gateway must not find the request later.
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
        var (answer, failure): (ErasureOrder?, ExitFailure?) = (nil, nil)
        do throws(Errno) {
            let loop = try EventLoop()
            let end = loop.now + Self.patience
            var timer: EventLoop.Timer?
            timer = loop.makeTimer { now in
                do throws(EventLogError) {
                    answer = try ErasureOrder.read(from: stateDirectory)
                } catch {
                    failure = ExitFailure(error)
                }
                if case .wanted? = answer, failure == nil, now < end {
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
        if let failure { throw failure }
        return answer
    }
}
