import BeaconMonitoring
import BluetoothLE
import EventLog
import JSON
import PublisherProtocol

/// What is so at present, as retained topics: the event lines folded into the last word on each condition and beacon, and
/// what Home Assistant is told of them.
///
/// A value: lines in, messages out, and its own octets to keep it by (``encoded``). It stands at the last line that it
/// took. It never says what it does not know: where lines are missing, all that it held becomes `unknown`.
///
/// Use, by whoever owns the connection:
/// 1. Make it from what was kept, or new; ``take(_:sequence:)`` every line of the files once, in their order. Where the
///    engine's own state is at hand, ``adopt(_:at:offset:)`` it: after a gap, and where the oldest lines are gone.
/// 2. While ``hasChanges``, publish what ``nextChanges(_:into:)`` gives, and ``acknowledge(_:)`` each topic at its PUBACK.
/// 3. After a new connection ``reconnected()``; where the broker remembers no session, ``repeatAll()``.
/// 4. Say `online` under `availability` only when nothing of what waited at the connection waits any more: before that the
///    broker may hold what was so when the last one ended.
/// 5. Keep ``encoded`` now and then, and the lines that follow ``sequence`` for as long.
package struct PresentState: Sendable {
    /// Under which topics it stands, and for whom; until its first message those that it was kept with.
    package internal(set) var options: PresentStateOptions
    /// The number of the last line that it knows of.
    package internal(set) var sequence = 0
    /// What it did not do, or gave up.
    package var counters: PresentStateCounters {
        var counters = counts
        counters.clearsGivenUp = delivery.guessesGivenUp
        return counters
    }

    /// The same, but for what ``delivery`` counts.
    var counts = PresentStateCounters()
    /// What Home Assistant knows the gateway by: its first topics' base, whatever it is called later.
    var key: String
    /// Topics and payloads for Home Assistant; absent where it is not told.
    var homeAssistant: HomeAssistantDiscovery?
    /// The conditions by identifier.
    var conditions: [Identifier: ConditionPresence] = [:]
    /// How many beacons are in view under all conditions.
    var beaconCount = 0
    /// How many have left and have a tracker still, and in which order they left.
    var awayCount = 0
    var awayQueue: [AwayTracker] = []
    /// What beacons are called, where it may be said: ``name(_:)``.
    var names: [BeaconIdentity: PublishedName] = [:]
    /// What is to be said, and to whom it was said.
    var delivery = RetainedDelivery()
    /// Lines up to this one may have been published by a process before this, of which nobody remembers what it said.
    let lastWritten: Int
    /// How many topics that earlier options left behind are to be cleared.
    var leftBehindCount = 0
    /// The options that hold from the first message on: up to there it stands as the process before it did.
    var optionsToCome: PresentStateOptions?

    /// The line that is being taken.
    var parser = LineParser()

    /// One that knows nothing.
    ///
    /// - Parameters:
    ///   - options: under which topics it stands.
    ///   - lastWritten: the number of the last line in the files at the start: what was said of lines up to there by a
    ///     process before this one, and not kept, is cleared where it is so no more. By default every line counts as
    ///     such, which is right too, and costs a message for each beacon that comes and goes while the broker is away.
    package init(_ options: PresentStateOptions, lastWritten: Int = .max) {
        self.init(options, key: options.base, lastWritten: lastWritten)
        touchHealth()
    }

    init(_ options: PresentStateOptions, key: String, lastWritten: Int) {
        self.options = options
        self.key = key
        self.lastWritten = lastWritten
        homeAssistant = HomeAssistantDiscovery(options, key: key)
    }

    /// Takes one whole line of the event files, with its envelope or without; its end may be there or not.
    ///
    /// Lines that it took already, and those without a number, change nothing. A line that is none of ours, or whose
    /// number is another, is counted.
    ///
    /// - Parameters:
    ///   - line: the line's octets.
    ///   - number: its number.
    package mutating func take(_ line: [UInt8], sequence number: Int) {
        guard number > sequence else { return }
        parser.text.bytes = line
        // Else whoever fills the array again would have to copy it first.
        defer { parser.text.bytes = [] }
        guard parser.parse(), parser.head.sequence == number else {
            counts.linesIgnored += 1
            return
        }
        if sequence > 0, number > sequence + 1 { doubtAll() }
        sequence = number
        let isUnderstood: Bool
        switch parser.head.kind {
        case .event: isUnderstood = takeEvent()
        case .condition: isUnderstood = takeChange()
        case .visit: isUnderstood = takeVisit()
        case .adapter, .clock, .gateway, .ranging, .evidence, .erased: isUnderstood = true
        // A later version's: what it says may matter, but not to this one.
        case nil: isUnderstood = true
        }
        if !isUnderstood { counts.linesIgnored += 1 }
    }

    /// Whether something waits to be published.
    package var hasChanges: Bool { delivery.waiting > 0 || optionsToCome != nil }

    /// Gives the next messages: retained, QoS 1, each topic at most once with what is so now; an empty payload clears one.
    ///
    /// A topic that was handed out does not come again before it is acknowledged, or all on their way were lost.
    ///
    /// - Parameters:
    ///   - limit: how many at most.
    ///   - publications: where they are appended.
    package mutating func nextChanges(_ limit: Int, into publications: inout [Publication]) {
        guard limit > 0, hasChanges else { return }
        if let optionsToCome { change(to: optionsToCome) }
        var writer = PresentStateWriter(options)
        for _ in 0..<limit {
            guard let topic = delivery.next() else { return }
            let name = name(of: topic)
            publications.append(
                Publication(
                    topic: name, payload: payload(of: topic, &writer), quality: .atLeastOnce, isRetained: true))
            delivery.handOut(topic, as: name)
        }
    }

    /// The broker acknowledged what was handed out under `topic`.
    package mutating func acknowledge(_ topic: String) {
        guard let topic = delivery.acknowledge(topic), !exists(topic) else { return }
        delivery.drop(topic)
        if case .leftBehind = topic { leftBehindCount -= 1 }
    }

    /// A connection began on which nothing that was handed out before will be acknowledged: it comes again.
    package mutating func reconnected() { delivery.loseWhatIsOnItsWay() }

    /// The broker may have forgotten everything: all topics come again, and what was not acknowledged.
    package mutating func repeatAll() {
        reconnected()
        if let optionsToCome { change(to: optionsToCome) }
        for topic in liveTopics() { touch(topic) }
    }

    /// Says of everything that it is not known any more, since lines are missing.
    private mutating func doubtAll() {
        counts.gaps += 1
        let (date, number) = (parser.head.date, parser.head.sequence ?? 0)
        for (identifier, var presence) in conditions {
            presence.own = presence.own.doubted(since: date, sequence: number, isBeacon: false)
            presence.beacons = presence.beacons.mapValues { $0.doubted(since: date, sequence: number, isBeacon: true) }
            presence.away = presence.away.mapValues { $0.doubted(since: date, sequence: number, isBeacon: true) }
            conditions[identifier] = presence
        }
        awayQueue = sortedAway()
        for topic in liveTopics() {
            switch topic {
            case .condition, .beacon, .tracker: touch(topic)
            case .conditionEntity, .trackerEntity, .healthEntity, .leftBehind: continue
            }
        }
    }

    /// Something is to be said under `topic`, or what is said has changed, or nothing is to be said any more.
    mutating func touch(_ topic: PresentTopic) {
        guard homeAssistant != nil || !topic.isForHomeAssistant else { return }
        let exists = exists(topic)
        delivery.touch(topic, exists: exists, mayBeHeld: sequence <= lastWritten)
        guard exists, leftBehindCount > 0 else { return }
        let octets = PresentTopic.leftBehind(Array(name(of: topic).utf8))
        if delivery.isOwed(octets) {
            delivery.drop(octets)
            leftBehindCount -= 1
        }
    }

    mutating func touchHealth() {
        for index in 0..<(homeAssistant?.health.count ?? 0) { touch(.healthEntity(index)) }
    }
}
