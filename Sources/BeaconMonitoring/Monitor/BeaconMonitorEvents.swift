extension BeaconMonitor {
    /// The events of a monitor, for any number of subscribers (rule N2).
    ///
    /// Each iterator is a subscription. It receives every event since its creation, in order, independently of other
    /// subscriptions. A request for the next event means that the previous one has been handled (rule N3). A loop
    /// creates its iterator when it starts; ``subscribe()`` subscribes earlier.
    ///
    /// A copy can select events:
    ///
    ///     var arrivals = monitor.events
    ///     arrivals.identifiers = ["lobby"]
    ///     arrivals.notifyOnExit = false
    ///     for try await event in arrivals {
    ///         print(event.date, event.refinement as Any)
    ///     }
    ///
    /// An event that is not selected counts as handled by this subscriber, so it also updates the record.
    ///
    /// If the monitor has a ``RecordStore``, the first subscription starts with the stored events of the earlier
    /// process that no subscriber handled.
    public struct Events: AsyncSequence, Sendable {
        /// Whether to deliver entries; `true` by default (Apple: `CLRegion.notifyOnEntry`).
        ///
        /// An entry starts a visit: `satisfied`, unless an outage had changed the subject from `satisfied` to
        /// `unknown`. If this or ``notifyOnExit`` is `false`, only the events of the other kind are delivered. Events
        /// of neither kind are delivered only if both are `true`: `unknown`, `unmonitored`, and the return to the state
        /// before them.
        public var notifyOnEntry = true
        /// Whether to deliver exits; `true` by default (Apple: `CLRegion.notifyOnExit`).
        ///
        /// An exit ends a visit: `unsatisfied` after `satisfied`, or after `unknown` with `satisfied` before. A change
        /// from `unknown` to `unsatisfied` is not an exit if the subject was not satisfied before, for example a new
        /// condition.
        public var notifyOnExit = true
        /// The identifiers of conditions whose events are delivered, including the events of beacons under them; `nil`
        /// means all.
        public var identifiers: Set<String>?

        let hub: EventHub

        init(hub: EventHub) { self.hub = hub }

        /// Subscribes: later events wait for the iterator, at most 65,535, including those that are not selected.
        public func makeAsyncIterator() -> Iterator { subscribe().makeAsyncIterator() }

        /// Subscribes: later events of the selected kinds wait, even if the first loop over the subscription starts
        /// later.
        public func subscribe() -> EventSubscription {
            EventSubscription(place: BroadcastPlace(hub.log, wants: filter))
        }

        /// Returns whether an event is selected; `nil` if all are.
        private var filter: (@Sendable (EventHub.Entry) -> Bool)? {
            if notifyOnEntry, notifyOnExit, identifiers == nil { return nil }
            return { [notifyOnEntry, notifyOnExit, identifiers] entry in
                guard identifiers?.contains(entry.event.identifier) ?? true else { return false }
                return switch entry.crossing {
                case .entry: notifyOnEntry
                case .exit: notifyOnExit
                case nil: notifyOnEntry && notifyOnExit
                }
            }
        }

        /// A subscription. It ends when the iterator is discarded or the task that waits for it is cancelled.
        public struct Iterator: AsyncIteratorProtocol, Sendable {
            let place: BroadcastPlace<EventHub.Entry>

            /// Returns the next event; `nil` after a cancellation, or if the monitor has ended and no event waits.
            ///
            /// - Throws: ``MonitorError/subscriberTooSlow(_:)`` once, if 65,536 events waited for the subscriber.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(MonitorError) -> Event? {
                try await place.next(isolation: actor)?.event
            }

            /// The same as ``next(isolation:)``, without an actor.
            public mutating func next() async throws(MonitorError) -> Event? { try await next(isolation: nil) }
        }
    }
}
