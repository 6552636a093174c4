import AdapterScanning
import BeaconMonitoring
import CommandSupport
import EventLog
import EventLoops
import GatewayConfiguration
import OperatorLogging
import SystemPackage

// `erase` asks a gateway that runs: by a file in the state directory, and SIGUSR1.
extension Daemon {
    /// Forgets the beacon that is asked for, where one is.
    ///
    /// - Returns: whether anything was asked.
    func forgetWhereAsked() -> Bool {
        let directory = FilePath(configuration.output.stateDirectory)
        do throws(EventLogError) {
            guard case .wanted(let request)? = try ErasureOrder.read(from: directory) else { return false }
            let answer = forget(request)
            if case .refused(let why) = answer {
                log(.beaconNotForgotten, "a beacon was to be forgotten, and is not: \(why)")
            }
            try answer.write(in: directory)
        } catch {
            log(.beaconNotForgotten, "what `erase` asked for can't be done: \(error)")
        }
        return true
    }

    /// Has the publisher take back what the broker retains of it.
    private func takeBack(_ request: ErasureRequest, upTo last: Int) {
        // What was before some date is not what is so now.
        guard let broker, request.before == nil else { return }
        do throws(EventLogError) {
            try ForgottenBeacon(request.beacon, upTo: last).add(in: FilePath(configuration.output.stateDirectory))
        } catch {
            log(.beaconNotForgotten, "the broker keeps what it retains of a beacon that was forgotten: \(error)")
        }
        broker.reload()
    }

    private func forget(_ request: ErasureRequest) -> ErasureOrder {
        // What was heard before is judged by what held then; the clock is read before what was received is (rule T5).
        let asked = loop.now
        supervisor?.drain()
        location.drain()
        let now = max(asked, monitor.engine.now)
        monitor.advance(to: now)
        deliver()
        var snapshot = monitor.engine.snapshot
        let refreshed = snapshot.forget(request, offset: monitor.engine.clockOffset)
        if snapshot != monitor.engine.snapshot {
            guard replaceEngine(configuration, from: snapshot, because: "a beacon was forgotten", at: now) else {
                return .refused("its state can't be taken over; see the log")
            }
        }
        recorder.forget(request.beacon)
        ranging.forgetAll(configuration)
        guard let last = journal.forget(request, monitor.engine.snapshot, refreshed: refreshed, at: now) else {
            return .refused(journal.trouble ?? "lines wait in memory")
        }
        takeBack(request, upTo: last)
        log(.beaconForgotten, "a beacon was forgotten, as `erase` asked")
        return .done(upTo: last)
    }
}
