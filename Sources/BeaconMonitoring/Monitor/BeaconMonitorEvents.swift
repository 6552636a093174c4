extension BeaconMonitor {
    /// A monitor's events, for any number of subscribers, at once and one after another (rule N2).
    ///
    /// Each iterator is a subscription: it gets every event from when it was made, in order, whatever becomes of the
    /// others. To ask for the next event is to say that the last one has been handled (rule N3). A loop makes its iterator
    /// when it begins; ``subscribe()`` subscribes before that.
    ///
    /// What a subscriber wants can be narrowed in a copy:
    ///
    ///     var arrivals = monitor.events
    ///     arrivals.identifiers = ["lobby"]
    ///     arrivals.notifyOnExit = false
    ///     for try await event in arrivals { … }
    ///
    /// An event that it leaves out has been handled, as far as this subscriber goes: records move by it as by any other.
    ///
    /// Where the monitor has a ``RecordStore``, the first subscription begins with the events that the process before kept
    /// and nobody handled.
    public struct Events: AsyncSequence, Sendable {
        /// Whether entries are wanted; `true` unless set (Apple: `CLRegion.notifyOnEntry`).
        ///
        /// An entry begins a stay: `satisfied`, unless the subject was that before an outage made it `unknown`. Where
        /// this or ``notifyOnExit`` is `false`, only the other's events are left: what is neither, as `unknown` and
        /// `unmonitored` are and the return to what was before them, comes only where both are `true`.
        public var notifyOnEntry = true
        /// Whether exits are wanted; `true` unless set (Apple: `CLRegion.notifyOnExit`).
        ///
        /// An exit ends a stay: `unsatisfied` after `satisfied`, or after `unknown` and `satisfied` before that. What was
        /// `unknown` from the beginning and turns out `unsatisfied` is none: nobody was there.
        public var notifyOnExit = true
        /// The conditions whose events are wanted, those of beacons under them included; all unless set.
        public var identifiers: Set<String>?

        let hub: EventHub

        init(hub: EventHub) { self.hub = hub }

        /// Subscribes: what happens from now on waits for the iterator, up to 65,535 events, left out ones counted.
        public func makeAsyncIterator() -> Iterator { subscribe().makeAsyncIterator() }

        /// Subscribes: what of the wanted happens from now on waits, whenever the first loop over it begins.
        public func subscribe() -> EventSubscription {
            EventSubscription(place: BroadcastPlace(hub.log, wants: filter))
        }

        /// What tells the wanted from the rest; absent where all are wanted.
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

        /// One subscription; it ends when the iterator is discarded or the task that waits on it is cancelled.
        public struct Iterator: AsyncIteratorProtocol, Sendable {
            let place: BroadcastPlace<EventHub.Entry>

            /// The next event; `nil` once the monitor has ended and nothing waits any more, or when cancelled.
            ///
            /// - Throws: ``MonitorError/subscriberTooSlow(_:)`` where the subscriber fell 65,536 events behind, once.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(MonitorError) -> Event? {
                try await place.next(isolation: actor)?.event
            }

            /// As ``next(isolation:)``, on no actor.
            public mutating func next() async throws(MonitorError) -> Event? { try await next(isolation: nil) }
        }
    }
}
