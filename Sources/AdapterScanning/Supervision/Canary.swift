import BaseTypes
package import BluetoothLE

/// A beacon that is always there: whoever does not hear it is deaf, whatever else is heard.
package struct Canary: Sendable, Hashable {
    /// Its UUID.
    package let uuid: ProximityUUID
    /// Its major; any where absent.
    package let major: UInt16?
    /// Its minor; any where absent.
    package let minor: UInt16?

    /// Makes a canary.
    package init(uuid: ProximityUUID, major: UInt16? = nil, minor: UInt16? = nil) {
        self.uuid = uuid
        self.major = major
        self.minor = minor
    }

    /// Whether `beacon` is it.
    @inline(__always)
    package func matches(_ beacon: BeaconIdentity) -> Bool {
        beacon.uuid == uuid && major.map { $0 == beacon.major } ?? true && minor.map { $0 == beacon.minor } ?? true
    }
}

/// Who has been told of the canary, and who counts as deaf for its silence.
///
/// Each adapter that has heard the canary since the start is judged by itself: its neighbours may hear the canary and it
/// may not, because its antenna fell off. One that never heard it may hang where the canary can't be heard; it is judged
/// only as long as no adapter at all has heard the canary: then nothing says that the gateway hears, and the setting says
/// that it would have to.
///
/// A value: events and time go in.
struct CanaryWatch: Sendable {
    struct Deafness: Sendable, Hashable {
        let adapter: Int
        /// The canary's last report, or when the adapter began to listen.
        let since: Instant
    }

    private struct Ear: Sendable {
        let adapter: Int
        var isListening = false
        var hasHeard = false
        var isDeaf = false
        /// The canary's last report, or when the adapter began to listen.
        var last: Instant
    }

    let canary: Canary
    let deafAfter: Duration
    private var ears: [Ear] = []
    private(set) var isProven = false

    /// - Parameters:
    ///   - canary: the beacon.
    ///   - deafAfter: the silence that makes an adapter deaf: L5's, or twice the ladder's where that is off.
    init(_ canary: Canary, deafAfter: Duration) {
        self.canary = canary
        self.deafAfter = deafAfter
    }

    /// Whether only the canary's own reports prove that the adapter hears.
    @inline(__always)
    func isJudged(_ adapter: Int) -> Bool {
        guard isProven else { return true }
        return place(of: adapter).map { ears[$0].hasHeard } ?? false
    }

    /// Whether the adapter counts as deaf.
    @inline(__always)
    func isDeaf(_ adapter: Int) -> Bool { place(of: adapter).map { ears[$0].isDeaf } ?? false }

    /// The canary's last report on an adapter.
    func lastHeard(on adapter: Int) -> Instant? {
        place(of: adapter).flatMap { ears[$0].hasHeard ? ears[$0].last : nil }
    }

    /// The adapter of that number is another.
    mutating func forget(_ adapter: Int) { ears.removeAll { $0.adapter == adapter } }

    private func place(of adapter: Int) -> Int? { ears.firstIndex { $0.adapter == adapter } }

    /// An adapter began to listen. One that counted as deaf goes on doing so until it hears the canary: a scan that was
    /// begun anew proves nothing.
    mutating func listening(_ adapter: Int, at time: Instant) {
        guard let place = place(of: adapter) else {
            ears.append(Ear(adapter: adapter, isListening: true, last: time))
            return
        }
        if !ears[place].isListening, !ears[place].isDeaf { ears[place].last = max(ears[place].last, time) }
        ears[place].isListening = true
    }

    /// An adapter stopped listening.
    mutating func stopped(_ adapter: Int) {
        if let place = place(of: adapter) { ears[place].isListening = false }
    }

    /// Nothing could be heard up to `time`.
    mutating func resumed(at time: Instant) {
        for place in ears.indices where !ears[place].isDeaf { ears[place].last = max(ears[place].last, time) }
    }

    /// The canary was heard.
    ///
    /// - Returns: the adapters that count as deaf no more.
    mutating func heard(on adapter: Int, at time: Instant) -> [Int] {
        guard let place = place(of: adapter) else {
            ears.append(Ear(adapter: adapter, isListening: true, hasHeard: true, last: time))
            return prove()
        }
        ears[place].last = max(ears[place].last, time)
        guard ears[place].isDeaf || !isProven else {
            ears[place].hasHeard = true
            return []
        }
        ears[place].hasHeard = true
        var released = ears[place].isDeaf ? [adapter] : []
        ears[place].isDeaf = false
        if !isProven { released += prove() }
        return released
    }

    // The canary is there after all: those that have not heard it are no longer judged by it.
    private mutating func prove() -> [Int] {
        isProven = true
        var released: [Int] = []
        for place in ears.indices where ears[place].isDeaf && !ears[place].hasHeard {
            ears[place].isDeaf = false
            released.append(ears[place].adapter)
        }
        return released
    }

    /// When an adapter goes deaf unless it hears the canary before.
    var nextDeadline: Instant? {
        ears.lazy.filter { $0.isListening && !$0.isDeaf && ($0.hasHeard || !isProven) }
            .map { $0.last + deafAfter }.min()
    }

    /// The adapters that have gone deaf by `now`.
    mutating func advance(to now: Instant) -> [Deafness] {
        var deaf: [Deafness] = []
        for place in ears.indices {
            let ear = ears[place]
            guard ear.isListening, !ear.isDeaf, ear.hasHeard || !isProven, ear.last + deafAfter <= now else { continue }
            ears[place].isDeaf = true
            deaf.append(Deafness(adapter: ear.adapter, since: ear.last))
        }
        return deaf
    }
}
