extension BeaconMonitor {
    /// The visits of the monitor. Each iteration is a subscription of its own, as with ``events``.
    public nonisolated var visits: Visits { Visits(log: visitLog) }

    /// The visits of a monitor, for any number of subscribers.
    ///
    /// Each visit is delivered at the arrival, with an open departure, and again after its end (Apple: `CLVisit`). It
    /// is delivered only at its end if its entry was assumed, or if it started before the subscription or in an earlier
    /// process. An outage does not end a visit (rule P3). Removing or replacing its condition does, and a beacon with a
    /// name that needs its place (rule P4); see ``Visit/Reason``.
    ///
    ///     for try await visit in monitor.visits where !visit.isOpen {
    ///         print(visit.identifier, visit.arrivalDate as Any, visit.departureDate as Any)
    ///     }
    public struct Visits: AsyncSequence, Sendable {
        let log: Broadcast<VisitUpdate>

        /// Subscribes: later updates wait for the iterator, at most 65,535.
        public func makeAsyncIterator() -> Iterator { subscribe().makeAsyncIterator() }

        /// Subscribes: later updates wait, even if the first loop over the subscription starts later.
        public func subscribe() -> VisitSubscription { VisitSubscription(place: BroadcastPlace(log)) }

        /// A subscription. It ends when the iterator is discarded or the task that waits for it is cancelled.
        public struct Iterator: AsyncIteratorProtocol, Sendable {
            let place: BroadcastPlace<VisitUpdate>

            /// Returns the next update; `nil` after a cancellation, or if the monitor has ended and no update waits.
            ///
            /// - Throws: ``MonitorError/subscriberTooSlow(_:)`` once, if 65,536 updates waited for the subscriber.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(MonitorError) -> VisitUpdate? {
                try await place.next(isolation: actor)
            }

            /// The same as ``next(isolation:)``, without an actor.
            public mutating func next() async throws(MonitorError) -> VisitUpdate? { try await next(isolation: nil) }
        }
    }

    /// A subscription to the visits of a monitor. It receives all visits after the subscription was created; see
    /// ``EventSubscription``, which is the same for events.
    public struct VisitSubscription: AsyncSequence, Sendable {
        let place: BroadcastPlace<VisitUpdate>

        /// Returns an iterator that continues with the next update that no iterator has received.
        public func makeAsyncIterator() -> Visits.Iterator { Visits.Iterator(place: place) }
    }
}
