extension BeaconMonitor {
    /// The beacons in view of a condition, once a second, the nearest first.
    ///
    /// Source: Apple, `CLLocationManager.startRangingBeacons(satisfying:)`. The condition need not be one that is monitored.
    /// Each iteration is a subscription of its own; it begins to range when its iterator is made, and where nobody ranges
    /// nothing is done. Rangings come while ``run()`` runs, or with the sightings that are handed over. While
    /// nobody is in view none come, after one that is empty; Core Location repeats the empty one each second.
    public nonisolated func ranging(for condition: BeaconIdentityCondition) -> RangingUpdates {
        RangingUpdates(hub: rangingHub, service: service, condition: condition)
    }

    /// How many rangings gave way to newer ones because their subscribers were slower than a second.
    public nonisolated var skippedRangings: Int { rangingHub.skipped }

    /// Rangings of one condition, for any number of subscribers.
    public struct RangingUpdates: AsyncSequence, Sendable {
        let hub: RangingHub
        let service: ServiceRegistry
        let condition: BeaconIdentityCondition

        /// Subscribes: from now on the condition is ranged, and a service session held for it.
        public func makeAsyncIterator() -> Iterator {
            Iterator(subscription: RangingSubscription(hub, service, condition))
        }

        /// One subscription; it ends when the iterator is discarded or the task that waits on it is cancelled.
        public struct Iterator: AsyncIteratorProtocol {
            let subscription: RangingSubscription
            /// How many rangings gave way to newer ones before they were asked for.
            ///
            /// One is kept: a table of who is near is worth nothing when it is a second old.
            public private(set) var skipped = 0

            /// The next ranging; `nil` once the monitor has ended, or when cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Ranging? {
                let ranging = await subscription.hub.next(subscription.id, isolation: actor)
                skipped += subscription.hub.takeSkipped(subscription.id)
                return ranging
            }

            /// As ``next(isolation:)``, on no actor.
            public mutating func next() async -> Ranging? { await next(isolation: nil) }
        }
    }

    /// A place among a hub's subscribers, given up with the last iterator that has it.
    final class RangingSubscription: Sendable {
        let hub: RangingHub
        let id: Int
        /// What ranging holds by itself.
        private let session: ImplicitSession

        init(_ hub: RangingHub, _ service: ServiceRegistry, _ condition: BeaconIdentityCondition) {
            self.hub = hub
            session = ImplicitSession(service)
            id = hub.subscribe(to: condition)
        }

        deinit { hub.end(id) }
    }
}
