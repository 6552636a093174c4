public import BeaconMonitoring
import Synchronization

extension Locating {
    /// Knows it from gpsd.
    ///
    /// - Parameters:
    ///   - host: where gpsd runs.
    ///   - port: 1 … 65535.
    ///   - feed: what is told as well, for `LocationUpdate.liveUpdates(_:filter:from:)`.
    /// - Returns: what a monitor takes as `locating:`.
    public static func gpsd(
        host: String = "localhost", port: UInt16 = 2947, feed: LocationFeed = .shared
    ) -> Locating { provider(.gpsd(host: host, port: port), feed: feed) }

    /// Plays a recorded track in place of a receiver.
    ///
    /// - Parameters:
    ///   - file: a GPX file, 1.0 or 1.1.
    ///   - options: how it is played.
    ///   - pace: metres a second, for a file without times.
    ///   - feed: what is told as well, for `LocationUpdate.liveUpdates(_:filter:from:)`.
    /// - Returns: what a monitor takes as `locating:`.
    public static func gpx(
        _ file: String, options: GPXOptions = GPXOptions(), pace: Double? = nil,
        feed: LocationFeed = .shared
    ) -> Locating { provider(.gpx(file, options: options, pace: pace), feed: feed) }

    /// Has it told by a script.
    ///
    /// - Parameters:
    ///   - script: what tells it.
    ///   - feed: what is told as well, for `LocationUpdate.liveUpdates(_:filter:from:)`.
    /// - Returns: what a monitor takes as `locating:`.
    public static func scripted(_ script: ScriptedFixes, feed: LocationFeed = .shared) -> Locating {
        provider(.scripted(script), feed: feed)
    }

    /// Knows it from a provider.
    ///
    /// - Parameters:
    ///   - provider: where fixes come from.
    ///   - feed: what is told as well, for `LocationUpdate.liveUpdates(_:filter:from:)`.
    /// - Returns: what a monitor takes as `locating:`.
    public static func provider(_ provider: LocationProvider, feed: LocationFeed = .shared) -> Locating {
        Locating(ProvidedSource(provider, feed))
    }
}

/// A provider as a monitor's location source, which tells a feed as well.
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
