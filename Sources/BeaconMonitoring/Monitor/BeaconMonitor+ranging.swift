extension BeaconMonitor {
    /// Returns a sequence with the beacons that match a condition, once per second, the nearest first.
    ///
    /// The condition does not have to be monitored. Each iterator is a subscription of its own, and ranging starts when
    /// the first one is created. Without subscriptions, nothing is computed. Rangings are delivered while ``run()``
    /// runs, or when sightings are passed in. After the last beacon goes out of range, one empty ranging is delivered,
    /// and none until a beacon returns. Before the first beacon is in range, none is delivered. Core Location repeats
    /// the empty one each second.
    ///
    ///     for await ranging in monitor.ranging(for: condition) {
    ///         for beacon in ranging.beacons { print(beacon.beacon, beacon.proximity, beacon.accuracy as Any) }
    ///     }
    ///
    /// Source: Apple, `CLLocationManager.startRangingBeacons(satisfying:)`.
    public nonisolated func ranging(for condition: BeaconIdentityCondition) -> RangingUpdates {
        RangingUpdates(hub: rangingHub, service: service, condition: condition)
    }

    /// The number of rangings that were replaced by newer ones because a subscriber needed more than a second.
    public nonisolated var skippedRangings: Int { rangingHub.skipped }

    /// The rangings of one condition, for any number of subscribers.
    public struct RangingUpdates: AsyncSequence, Sendable {
        let hub: RangingHub
        let service: ServiceRegistry
        let condition: BeaconIdentityCondition

        /// Subscribes: ranging of the condition starts, and a service session is held for it.
        public func makeAsyncIterator() -> Iterator {
            Iterator(subscription: RangingSubscription(hub, service, condition))
        }

        /// A subscription. It ends when the iterator is discarded or the task that waits for it is cancelled.
        public struct Iterator: AsyncIteratorProtocol {
            let subscription: RangingSubscription
            /// The number of rangings that were replaced by newer ones before they were requested.
            ///
            /// Only the newest ranging waits, because distances are useless after a second.
            public private(set) var skipped = 0

            /// Returns the next ranging; `nil` after the end of the monitor or a cancellation.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Ranging? {
                let ranging = await subscription.hub.next(subscription.id, isolation: actor)
                skipped += subscription.hub.takeSkipped(subscription.id)
                return ranging
            }

            /// The same as ``next(isolation:)``, without an actor.
            public mutating func next() async -> Ranging? { await next(isolation: nil) }
        }
    }

    /// A subscription of a hub, which ends with the last iterator that has it.
    final class RangingSubscription: Sendable {
        let hub: RangingHub
        let id: Int
        /// The service session that ranging holds.
        private let session: ImplicitSession

        init(_ hub: RangingHub, _ service: ServiceRegistry, _ condition: BeaconIdentityCondition) {
            self.hub = hub
            session = ImplicitSession(service)
            id = hub.subscribe(to: condition)
        }

        deinit { hub.end(id) }
    }
}
