import BaseTypes
import BeaconMonitoring

/// A recording as a monitor's source: what a replay of it says, by the recording's own time.
final class CaptureSource: SightingSource {
    /// So many events wait for the slowest subscriber; then it is waited for.
    private static let eventsWaitingMax = 4096

    var clock: any MonitorClock { time }
    private let path: String
    private let time: CaptureClock
    /// Why its beginning can't be read, which running it says.
    private let failure: HearingError?

    /// A recording from its beginning: that is when the monitor's time begins.
    init(_ path: String) {
        self.path = path
        do throws(HearingError) {
            time = CaptureClock(try CapturedReports.beginning(of: path))
            failure = nil
        } catch {
            time = CaptureClock(.earliest)
            failure = error
        }
    }

    /// Hands over the recording, as fast as its events are handled.
    ///
    /// - Throws: ``HearingError`` where it can't be read, `CancellationError`.
    func run(into monitor: BeaconMonitor) async throws {
        if let failure { throw failure }
        var reports = try CapturedReports(path)
        var delivery = CaptureDelivery()
        while let chunk = try reports.next() {
            try Task.checkCancellation()
            await delivery.deliver(chunk, to: monitor)
            time.advance(to: chunk.end)
            await monitor.catchUp()
            await monitor.settled(to: Self.eventsWaitingMax)
        }
    }

    /// Returns at once: time goes on only when all up to it has been handed over.
    func drain() async {}
}
