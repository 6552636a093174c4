import BaseTypes
public import BeaconMonitoring

extension LocationUpdate {
    /// The live updates of a feed. Each iteration is a subscription that starts with its iterator.
    public struct Updates: AsyncSequence, Sendable {
        let feed: LocationFeed
        let configuration: LiveConfiguration
        let filter: LocationFilter

        /// Creates a subscription.
        public func makeAsyncIterator() -> AsyncStream<LocationUpdate>.Iterator {
            feed.stream { now, diagnostics, continuation in
                var state = LiveUpdateFilter(configuration, filter: filter, at: now)
                // Diagnostics are reported immediately.
                for update in state.set(diagnostics) { continuation.yield(update) }
                return .live(state, continuation)
            }.makeAsyncIterator()
        }
    }
}

extension LocationFeed {
    /// The positions that are at least 500 m from the last one, at most one in five minutes (Apple:
    /// `startMonitoringSignificantLocationChanges`).
    public var significantChanges: AsyncStream<LocationFix> {
        stream { _, _, continuation in .significant(SignificantChangeFilter(), continuation) }
    }

    /// The visits of this gateway at places: at the arrival, and again at the departure (Apple:
    /// `startMonitoringVisits`).
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
