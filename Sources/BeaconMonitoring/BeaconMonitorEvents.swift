extension BeaconMonitor {
    /// A monitor's events, for any number of subscribers, at once and one after another (rule N2).
    ///
    /// Each iterator is a subscription: it gets every event from when it was made, in order, whatever becomes of the
    /// others. To ask for the next event is to say that the last one has been handled (rule N3).
    public struct Events: AsyncSequence, Sendable {
        let hub: EventHub

        /// Subscribes: what happens from now on waits for the iterator, up to 65,535 events.
        public func makeAsyncIterator() -> Iterator { Iterator(subscription: Subscription(hub)) }

        /// One subscription; it ends when the iterator is discarded or the task that waits on it is cancelled.
        public struct Iterator: AsyncIteratorProtocol {
            let subscription: Subscription

            /// The next event; `nil` once the monitor has ended and nothing waits any more, or when cancelled.
            ///
            /// - Throws: ``MonitorError/subscriberTooSlow(_:)`` where the subscriber fell 65,536 events behind, once.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(MonitorError) -> Event? {
                try await subscription.hub.next(subscription.id, isolation: actor).get()
            }

            /// As ``next(isolation:)``, on no actor.
            public mutating func next() async throws(MonitorError) -> Event? { try await next(isolation: nil) }
        }
    }

    /// A place among a hub's subscribers, given up with the last iterator that has it.
    final class Subscription: Sendable {
        let hub: EventHub
        let id: Int

        init(_ hub: EventHub) {
            self.hub = hub
            id = hub.subscribe()
        }

        deinit { hub.end(id) }
    }
}
