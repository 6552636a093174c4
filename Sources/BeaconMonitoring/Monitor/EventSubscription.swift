extension BeaconMonitor {
    /// Subscribes to the events: every one from now on waits for the subscriber, in order, up to 65,535 (rule N2).
    ///
    ///     let events = monitor.subscribe()
    ///     async let hearing: Void = monitor.run()
    ///     for try await event in events { … }
    ///
    /// ``events`` subscribes as well, but not before a loop over it begins: what happens until then reaches nobody. For a
    /// part of the events, narrow ``events`` and subscribe to that (``Events/subscribe()``).
    public nonisolated func subscribe() -> EventSubscription { events.subscribe() }

    /// A subscription to a monitor's events, from when it was made (rule N2).
    ///
    /// It is one subscription, however often it is iterated: a loop goes on where the one before it stopped, and two at once
    /// share the events between them. It ends with the last reference to it or to an iterator of it, and when a task that
    /// waits on it is cancelled.
    public struct EventSubscription: AsyncSequence, Sendable {
        let place: BroadcastPlace<EventHub.Entry>

        /// Goes on with the next event that nobody has taken.
        public func makeAsyncIterator() -> Events.Iterator { Events.Iterator(place: place) }
    }
}
