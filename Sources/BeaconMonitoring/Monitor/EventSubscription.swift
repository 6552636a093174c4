extension BeaconMonitor {
    /// Subscribes to the events: all later events wait for the subscriber, in order, at most 65,535 (rule N2).
    ///
    ///     let events = monitor.subscribe()
    ///     async let scanning: Void = monitor.run()
    ///     for try await event in events {
    ///         print(event.identifier, event.state)
    ///     }
    ///     try await scanning
    ///
    /// ``events`` also subscribes, but only when a loop over it starts; earlier events are not delivered to it. To
    /// select events, set the properties of ``events`` and subscribe to that copy (``Events/subscribe()``).
    public nonisolated func subscribe() -> EventSubscription { events.subscribe() }

    /// A subscription to the events of a monitor. It receives all events after the subscription was created (rule N2).
    ///
    /// It is one subscription, even if it is iterated several times: a loop continues where the previous one stopped,
    /// and two loops at the same time share the events. It ends with the last reference to it or to one of its
    /// iterators, and when a task that waits for it is cancelled.
    public struct EventSubscription: AsyncSequence, Sendable {
        let place: BroadcastPlace<EventHub.Entry>

        /// Returns an iterator that continues with the next event that no iterator has received.
        public func makeAsyncIterator() -> Events.Iterator { Events.Iterator(place: place) }
    }
}
