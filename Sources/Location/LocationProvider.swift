import BaseTypes
public import BeaconMonitoring
import SystemPackage

/// Where fixes come from: gpsd, a GPX file, a script.
///
///     let monitor = try BeaconMonitor("ferry", scanning: .automatic, locating: .gpsd())
///
/// Where there is no monitor, ``LocationFeed/run(_:clock:)`` takes one as well.
public struct LocationProvider: Sendable {
    /// The name of the provider in log lines and errors: `gpsd`.
    public let name: String
    /// Makes what is to be had from it, from the beginning.
    let make: @Sendable () -> any LocationPlayback

    /// What gpsd says, over its JSON socket; it is connected to again whenever that ends.
    ///
    /// - Parameters:
    ///   - host: where it runs; a name is looked up whenever it is connected to.
    ///   - port: 1 … 65535.
    /// - Returns: a provider that has not connected yet.
    public static func gpsd(host: String = "localhost", port: UInt16 = 2947) -> LocationProvider {
        LocationProvider(name: "gpsd") { GPSDPlayback(host: host, port: port) }
    }

    /// A recorded track in place of a receiver, played from when it is run.
    ///
    /// - Parameters:
    ///   - file: a GPX file, 1.0 or 1.1.
    ///   - options: how it is played.
    ///   - pace: metres a second, for a file without times.
    /// - Returns: a provider that has not read the file yet.
    public static func gpx(
        _ file: String, options: GPXOptions = GPXOptions(), pace: Double? = nil
    ) -> LocationProvider {
        LocationProvider(name: "gpx") { GPXPlayback(file: file, options: options, pace: pace) }
    }

    /// What a script gives, whenever it gives it: for tests, and for whoever has fixes from elsewhere.
    public static func scripted(_ script: ScriptedFixes) -> LocationProvider {
        LocationProvider(name: script.name) { ScriptedPlayback(script: script) }
    }
}

/// Why there can be no fixes.
public struct LocationError: Error, Hashable, CustomStringConvertible {
    /// What, where and what to do.
    public let description: String
}

/// One run of a provider.
protocol LocationPlayback: Sendable {
    /// Plays until the task is cancelled, or there is no more.
    ///
    /// - Parameters:
    ///   - clock: the timeline.
    ///   - monitor: the monitor that is told, where there is one; each time in one go, from within it.
    ///   - feed: what is told beside it.
    /// - Throws: ``LocationError`` where there can be no fixes; `CancellationError`, and what the clock throws.
    func run(on clock: any MonitorClock, to monitor: BeaconMonitor?, _ feed: LocationFeed) async throws

    /// Hands over what has been received.
    func drain(on clock: any MonitorClock, to monitor: isolated BeaconMonitor, _ feed: LocationFeed) async
}

/// What becomes known.
enum LocationNews: Sendable, Hashable {
    case fix(LocationFix)
    case lost(since: Instant, reason: String)
    /// The flags that the provider raises from now on.
    case flags(Diagnostics)

    /// Tells a feed, and a monitor from within it.
    static func tell(
        _ all: [LocationNews], at now: Instant, to monitor: isolated BeaconMonitor, _ feed: LocationFeed
    ) {
        for news in all {
            tell([news], at: now, feed)
            switch news {
            case .fix(let fix): monitor.located(fix)
            case .lost(let since, let reason): monitor.lostLocation(since: since, reason: reason)
            case .flags: break
            }
        }
    }

    /// Tells a feed.
    static func tell(_ all: [LocationNews], at now: Instant, _ feed: LocationFeed) {
        for news in all {
            switch news {
            case .fix(let fix): feed.located(fix)
            // That there is no fix, its own patience tells.
            case .lost: feed.advance(to: now)
            case .flags(let flags): feed.set(flags)
            }
        }
    }
}

extension LocationFeed {
    /// Feeds this from a provider, until the task is cancelled or, with a track, it has ended: live updates without a
    /// monitor.
    ///
    /// - Parameters:
    ///   - provider: where fixes come from.
    ///   - clock: the timeline that they are stamped by; for gpsd it has to be the machine's.
    /// - Throws: ``LocationError`` where there can be no fixes, `CancellationError`, and what the clock throws.
    public func run(_ provider: LocationProvider, clock: any MonitorClock) async throws {
        let playback = provider.make()
        try await running(on: clock) { try await playback.run(on: clock, to: nil, self) }
    }

    /// Tells the feed the time beside `body`, and ends that with it.
    func running(on clock: any MonitorClock, _ body: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while true {
                    self.advance(to: clock.now)
                    // Subscribers come from other tasks and wake nobody.
                    try await clock.sleep(until: clock.now + .seconds(1))
                }
            }
            group.addTask(operation: body)
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
