import BaseTypes
public import BeaconMonitoring
import SystemPackage

/// A provider of fixes: gpsd, a GPX file, or a script.
///
///     let monitor = try BeaconMonitor("ferry", scanning: .automatic, locating: .gpsd())
///
/// Without a monitor, ``LocationFeed/run(_:clock:)`` uses it.
public struct LocationProvider: Sendable {
    /// The name of the provider in log lines and errors: `gpsd`.
    public let name: String
    /// Creates a run of the provider.
    let make: @Sendable () -> any LocationPlayback

    /// Fixes from the JSON socket of gpsd. It reconnects whenever the connection ends.
    ///
    /// - Parameters:
    ///   - host: the host of gpsd. A name is looked up for each connection.
    ///   - port: its port, 1 … 65535.
    /// - Returns: a provider that has not connected yet.
    public static func gpsd(host: String = "localhost", port: UInt16 = 2947) -> LocationProvider {
        LocationProvider(name: "gpsd") { GPSDPlayback(host: host, port: port) }
    }

    /// Plays a recorded track instead of a receiver, starting when it is run.
    ///
    /// - Parameters:
    ///   - file: a GPX file, version 1.0 or 1.1.
    ///   - options: the speed and the repetition.
    ///   - pace: the speed in metres per second, for a file without times.
    /// - Returns: a provider that has not read the file yet.
    public static func gpx(
        _ file: String, options: GPXOptions = GPXOptions(), pace: Double? = nil
    ) -> LocationProvider {
        LocationProvider(name: "gpx") { GPXPlayback(file: file, options: options, pace: pace) }
    }

    /// Fixes from a script, for tests and for programs with a source of their own.
    public static func scripted(_ script: ScriptedFixes) -> LocationProvider {
        LocationProvider(name: script.name) { ScriptedPlayback(script: script) }
    }
}

/// One run of a provider.
protocol LocationPlayback: Sendable {
    /// Delivers fixes until the task is cancelled or the provider ends.
    ///
    /// - Parameters:
    ///   - clock: the timeline.
    ///   - monitor: the monitor that receives the fixes, or `nil`. Each delivery is one call on the monitor.
    ///   - feed: the feed that also receives them.
    /// - Throws: `LocationError` if there can be no fixes; `CancellationError`; the errors of the clock.
    func run(on clock: any MonitorClock, to monitor: BeaconMonitor?, _ feed: LocationFeed) async throws

    /// Delivers everything that has been received.
    func drain(on clock: any MonitorClock, to monitor: isolated BeaconMonitor, _ feed: LocationFeed) async
}

/// An output of a provider.
enum LocationOutput: Sendable, Hashable {
    case fix(LocationFix)
    case lost(since: Instant, reason: String)
    /// The diagnostics of the provider from now on.
    case flags(Diagnostics)

    /// Passes outputs to a feed and to a monitor.
    static func report(
        _ all: [LocationOutput], on clock: any MonitorClock, to monitor: isolated BeaconMonitor, _ feed: LocationFeed
    ) {
        for output in all {
            let output = output.dated(by: clock)
            report([output], on: clock, feed)
            switch output {
            case .fix(let fix): monitor.located(fix)
            case .lost(let since, let reason): monitor.lostLocation(since: since, reason: reason)
            case .flags: break
            }
        }
    }

    /// Passes outputs to a feed.
    static func report(_ all: [LocationOutput], on clock: any MonitorClock, _ feed: LocationFeed) {
        for output in all {
            switch output.dated(by: clock) {
            case .fix(let fix): feed.located(fix)
            // The feed detects itself that there is no fix.
            case .lost: feed.advance(to: clock.now)
            case .flags(let flags): feed.set(flags)
            }
        }
    }

    /// Returns the output; a fix without a date gets that of the clock.
    private func dated(by clock: any MonitorClock) -> LocationOutput {
        guard case .fix(var fix) = self, fix.clockOffset == nil else { return self }
        fix.clockOffset = clock.offset
        return .fix(fix)
    }
}

extension LocationFeed {
    /// Runs a provider for this feed, for live updates without a monitor. It ends when the task is cancelled or a track
    /// ends.
    ///
    /// - Parameters:
    ///   - provider: the provider.
    ///   - clock: the timeline of the fixes. For gpsd, it must be the clock of the machine.
    /// - Throws: `LocationError` if there can be no fixes; `CancellationError`; the errors of the clock.
    public func run(_ provider: LocationProvider, clock: any MonitorClock) async throws {
        let playback = provider.make()
        try await running(on: clock) { try await playback.run(on: clock, to: nil, self) }
    }

    /// Passes the time to the feed while `body` runs.
    func running(on clock: any MonitorClock, _ body: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while true {
                    self.advance(to: clock.now)
                    // Subscribers are created by other tasks and do not wake this one.
                    try await clock.sleep(until: clock.now + .seconds(1))
                }
            }
            group.addTask(operation: body)
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
