import BaseTypes
import BeaconMonitoring
import Captures

/// A capture as the source of a monitor, with the times of the capture.
final class CaptureSource: SightingSource {
    /// The number of events that may wait for the slowest subscriber before the source pauses.
    private static let eventsWaitingMax = 4096

    /// The file, and how it is read.
    struct Options {
        var path: String
        var fields: FieldMap
        var zone: CaptureZone?
        /// How long records are delayed so that they can be sorted.
        var reorder: Duration
    }

    var clock: any MonitorClock { time }
    private let options: Options
    private let warn: @Sendable (String) -> Void
    private let time: CaptureClock
    /// The error if the start of the capture cannot be read; ``run(into:)`` throws it.
    private let failure: ScanningError?

    /// Creates a source. The time of the monitor starts with the capture.
    init(_ options: Options, warn: @escaping @Sendable (String) -> Void) {
        self.options = options
        self.warn = warn
        do throws(ScanningError) {
            time = CaptureClock(try CapturedReports.beginning(of: options))
            failure = nil
        } catch {
            time = CaptureClock(.earliest)
            failure = error
        }
    }

    /// Delivers the capture as fast as its events are handled.
    ///
    /// - Throws: ``ScanningError`` if it cannot be read; `CancellationError`.
    func run(into monitor: BeaconMonitor) async throws {
        if let failure { throw failure }
        var reports = try CapturedReports(options)
        defer { for warning in reports.warnings { warn(warning) } }
        var delivery = CaptureDelivery()
        while let chunk = try reports.next() {
            try Task.checkCancellation()
            await delivery.deliver(chunk, to: monitor)
            time.advance(to: chunk.end)
            await monitor.catchUp()
            await monitor.settled(to: Self.eventsWaitingMax)
        }
    }

    /// Returns immediately: the clock advances only after all earlier records have been delivered.
    func drain() async {}
}
