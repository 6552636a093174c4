public import BeaconMonitoring
import Synchronization

extension Locating {
    /// Gets the position from gpsd.
    ///
    /// - Parameters:
    ///   - host: the host of gpsd.
    ///   - port: its port, 1 … 65535.
    ///   - feed: a feed that also receives the fixes, for `LocationUpdate.liveUpdates(_:filter:from:)`.
    /// - Returns: the argument `locating:` of a monitor.
    public static func gpsd(
        host: String = "localhost", port: UInt16 = 2947, feed: LocationFeed = .shared
    ) -> Locating { provider(.gpsd(host: host, port: port), feed: feed) }

    /// Plays a recorded track instead of a receiver.
    ///
    /// - Parameters:
    ///   - file: a GPX file, version 1.0 or 1.1.
    ///   - options: the speed and the repetition.
    ///   - pace: the speed in metres per second, for a file without times.
    ///   - feed: a feed that also receives the fixes, for `LocationUpdate.liveUpdates(_:filter:from:)`.
    /// - Returns: the argument `locating:` of a monitor.
    public static func gpx(
        _ file: String, options: GPXOptions = GPXOptions(), pace: Double? = nil,
        feed: LocationFeed = .shared
    ) -> Locating { provider(.gpx(file, options: options, pace: pace), feed: feed) }

    /// Gets the position from a script.
    ///
    /// - Parameters:
    ///   - script: the script.
    ///   - feed: a feed that also receives the fixes, for `LocationUpdate.liveUpdates(_:filter:from:)`.
    /// - Returns: the argument `locating:` of a monitor.
    public static func scripted(_ script: ScriptedFixes, feed: LocationFeed = .shared) -> Locating {
        provider(.scripted(script), feed: feed)
    }

    /// Gets the position from a provider.
    ///
    /// - Parameters:
    ///   - provider: the source of the fixes.
    ///   - feed: a feed that also receives the fixes, for `LocationUpdate.liveUpdates(_:filter:from:)`.
    /// - Returns: the argument `locating:` of a monitor.
    public static func provider(_ provider: LocationProvider, feed: LocationFeed = .shared) -> Locating {
        Locating(ProvidedSource(provider, feed))
    }
}

/// A provider as the location source of a monitor and of a feed.
private final class ProvidedSource: LocatingSource {
    let name: String
    private let provider: LocationProvider
    private let feed: LocationFeed
    private let current = Mutex<(any LocationPlayback)?>(nil)

    init(_ provider: LocationProvider, _ feed: LocationFeed) {
        name = provider.name
        self.provider = provider
        self.feed = feed
    }

    func run(into monitor: BeaconMonitor) async throws {
        let playback = provider.make()
        current.withLock { $0 = playback }
        defer { current.withLock { $0 = nil } }
        let (clock, feed) = (monitor.clock, feed)
        try await feed.running(on: clock) { try await playback.run(on: clock, to: monitor, feed) }
    }

    func drain(into monitor: isolated BeaconMonitor) async {
        await current.withLock { $0 }?.drain(on: monitor.clock, to: monitor, feed)
    }
}
