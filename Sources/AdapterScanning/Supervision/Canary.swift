import BaseTypes
package import BluetoothLE

/// A beacon that is always present. An adapter that does not receive it is out of order, whatever else it receives.
package struct Canary: Sendable, Hashable {
    /// The UUID of the canary.
    package let uuid: ProximityUUID
    /// The major of the canary; `nil` matches any.
    package let major: UInt16?
    /// The minor of the canary; `nil` matches any.
    package let minor: UInt16?

    /// Creates a canary.
    package init(uuid: ProximityUUID, major: UInt16? = nil, minor: UInt16? = nil) {
        self.uuid = uuid
        self.major = major
        self.minor = minor
    }

    /// Returns whether `beacon` is the canary.
    @inline(__always)
    package func matches(_ beacon: BeaconIdentity) -> Bool {
        beacon.uuid == uuid && major.map { $0 == beacon.major } ?? true && minor.map { $0 == beacon.minor } ?? true
    }
}

/// Decides by the silence of the canary which adapters are out of order.
///
/// Each adapter that has received the canary since the start is checked by itself: it can stop receiving the canary
/// while other adapters still receive it, for example because its antenna fell off. An adapter that never received the
/// canary may be out of its range. It is checked only as long as no adapter has received the canary: then nothing shows
/// that the gateway receives at all, although the setting says that it must receive the canary.
///
/// A value without side effects: events and times are passed in.
struct CanaryWatch: Sendable {
    struct Silence: Sendable, Hashable {
        let adapter: Int
        /// The time of the canary's last report, or the time at which the adapter started to listen.
        let since: Instant
    }

    private struct WatchedAdapter: Sendable {
        let adapter: Int
        var isListening = false
        var hasReceived = false
        var isDeaf = false
        /// The time of the canary's last report, or the time at which the adapter started to listen.
        var last: Instant
    }

    let canary: Canary
    let deafAfter: Duration
    private var adapters: [WatchedAdapter] = []
    private(set) var isProven = false

    /// - Parameters:
    ///   - canary: the beacon.
    ///   - deafAfter: the silence after which an adapter is out of order: that of rule L5, or twice the watchdog's if
    ///     rule L5 is off.
    init(_ canary: Canary, deafAfter: Duration) {
        self.canary = canary
        self.deafAfter = deafAfter
    }

    /// Returns whether only reports of the canary prove that the adapter receives.
    @inline(__always)
    func isJudged(_ adapter: Int) -> Bool {
        guard isProven else { return true }
        return place(of: adapter).map { adapters[$0].hasReceived } ?? false
    }

    /// Returns whether the adapter is out of order.
    @inline(__always)
    func isDeaf(_ adapter: Int) -> Bool { place(of: adapter).map { adapters[$0].isDeaf } ?? false }

    /// Returns the time of the canary's last report on an adapter.
    func lastReceived(on adapter: Int) -> Instant? {
        place(of: adapter).flatMap { adapters[$0].hasReceived ? adapters[$0].last : nil }
    }

    /// Discards an adapter, because another one has its number now.
    mutating func forget(_ adapter: Int) { adapters.removeAll { $0.adapter == adapter } }

    private func place(of adapter: Int) -> Int? { adapters.firstIndex { $0.adapter == adapter } }

    /// An adapter started to listen. If it was out of order, it stays so until it receives the canary, because a
    /// restarted scan proves nothing.
    mutating func listening(_ adapter: Int, at time: Instant) {
        guard let place = place(of: adapter) else {
            adapters.append(WatchedAdapter(adapter: adapter, isListening: true, last: time))
            return
        }
        if !adapters[place].isListening, !adapters[place].isDeaf {
            adapters[place].last = max(adapters[place].last, time)
        }
        adapters[place].isListening = true
    }

    /// An adapter stopped listening.
    mutating func stopped(_ adapter: Int) {
        if let place = place(of: adapter) { adapters[place].isListening = false }
    }

    /// No adapter could receive up to `time`.
    mutating func resumed(at time: Instant) {
        for place in adapters.indices where !adapters[place].isDeaf {
            adapters[place].last = max(adapters[place].last, time)
        }
    }

    /// The canary was received.
    ///
    /// - Returns: the adapters that are no longer out of order.
    mutating func received(on adapter: Int, at time: Instant) -> [Int] {
        guard let place = place(of: adapter) else {
            adapters.append(WatchedAdapter(adapter: adapter, isListening: true, hasReceived: true, last: time))
            return prove()
        }
        adapters[place].last = max(adapters[place].last, time)
        guard adapters[place].isDeaf || !isProven else {
            adapters[place].hasReceived = true
            return []
        }
        adapters[place].hasReceived = true
        var released = adapters[place].isDeaf ? [adapter] : []
        adapters[place].isDeaf = false
        if !isProven { released += prove() }
        return released
    }

    // The canary is present, so adapters that have not received it are not checked any more.
    private mutating func prove() -> [Int] {
        isProven = true
        var released: [Int] = []
        for place in adapters.indices where adapters[place].isDeaf && !adapters[place].hasReceived {
            adapters[place].isDeaf = false
            released.append(adapters[place].adapter)
        }
        return released
    }

    /// The next time at which an adapter becomes out of order unless it receives the canary before.
    var nextDeadline: Instant? {
        adapters.lazy.filter { $0.isListening && !$0.isDeaf && ($0.hasReceived || !isProven) }
            .map { $0.last + deafAfter }.min()
    }

    /// Returns the adapters that have become out of order by `now`.
    mutating func advance(to now: Instant) -> [Silence] {
        var silences: [Silence] = []
        for place in adapters.indices {
            let watched = adapters[place]
            guard watched.isListening, !watched.isDeaf, watched.hasReceived || !isProven,
                watched.last + deafAfter <= now
            else { continue }
            adapters[place].isDeaf = true
            silences.append(Silence(adapter: watched.adapter, since: watched.last))
        }
        return silences
    }
}
