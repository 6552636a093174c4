import BaseTypes
public import BeaconMonitoring

extension LocationUpdate {
    /// Live updates of a feed: each iteration is a subscription of its own, from when it begins.
    public struct Updates: AsyncSequence, Sendable {
        let feed: LocationFeed
        let configuration: LiveConfiguration
        let filter: LocationFilter

        /// Subscribes.
        public func makeAsyncIterator() -> AsyncStream<LocationUpdate>.Iterator {
            feed.stream { now, diagnostics, continuation in
                var state = LiveUpdateFilter(configuration, filter: filter, at: now)
                // What stands in the way is told at once.
                for update in state.set(diagnostics) { continuation.yield(update) }
                return .live(state, continuation)
            }.makeAsyncIterator()
        }
    }
}

extension LocationFeed {
    /// The places where this gateway is 500 m or more from the one before, at most one in five minutes
    /// (Apple: `startMonitoringSignificantLocationChanges`).
    public var significantChanges: AsyncStream<LocationFix> {
        stream { _, _, continuation in .significant(SignificantChangeFilter(), continuation) }
    }

    /// Where it stays: at the arrival, and again at the departure (Apple: `startMonitoringVisits`).
    public var visits: AsyncStream<LocationVisit> {
        stream { _, _, continuation in .visits(VisitDetector(), continuation) }
    }

    fileprivate func stream<Element: Sendable>(
        _ make: (Instant?, Diagnostics, AsyncStream<Element>.Continuation) -> Subscriber
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingNewest(Self.updatesMax))
        let id = subscribe { now, diagnostics in make(now, diagnostics, continuation) }
        continuation.onTermination = { [weak self] _ in self?.end(id) }
        return stream
    }
}
