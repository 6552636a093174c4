extension BeaconMonitor {
    /// The stays: each iteration is a subscription of its own, as with ``events``.
    public nonisolated var visits: Visits { Visits(log: visitLog) }

    /// A monitor's stays, for any number of subscribers, at once and one after another.
    ///
    /// Each is delivered at the arrival, with the departure open, and again when it has ended (Apple: `CLVisit`). One that
    /// was assumed, or that began before the subscription or in a process before this one, is delivered at its end alone,
    /// with all that is known of it. An outage ends none (rule P3); removing or replacing its condition does, and
    /// so does a named beacon that takes its place (rule P4), as ``Visit/Reason`` says.
    public struct Visits: AsyncSequence, Sendable {
        let log: Broadcast<VisitUpdate>

        /// Subscribes: what happens from now on waits for the iterator, up to 65,535 updates.
        public func makeAsyncIterator() -> Iterator { subscribe().makeAsyncIterator() }

        /// Subscribes: what happens from now on waits, whenever the first loop over it begins.
        public func subscribe() -> VisitSubscription { VisitSubscription(place: BroadcastPlace(log)) }

        /// One subscription; it ends when the iterator is discarded or the task that waits on it is cancelled.
        public struct Iterator: AsyncIteratorProtocol, Sendable {
            let place: BroadcastPlace<VisitUpdate>

            /// The next stay; `nil` once the monitor has ended and nothing waits any more, or when cancelled.
            ///
            /// - Throws: ``MonitorError/subscriberTooSlow(_:)`` where the subscriber fell 65,536 updates behind, once.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(MonitorError) -> VisitUpdate? {
                try await place.next(isolation: actor)
            }

            /// As ``next(isolation:)``, on no actor.
            public mutating func next() async throws(MonitorError) -> VisitUpdate? { try await next(isolation: nil) }
        }
    }

    /// A subscription to a monitor's stays, from when it was made; as ``EventSubscription`` is one to its events.
    public struct VisitSubscription: AsyncSequence, Sendable {
        let place: BroadcastPlace<VisitUpdate>

        /// Goes on with the next update that nobody has taken.
        public func makeAsyncIterator() -> Visits.Iterator { Visits.Iterator(place: place) }
    }
}
