package import BaseTypes
import HeapModule

/// Puts what a site's gateways heard in the one order in which its engine is told of it, from the batches of the site's log
/// alone: a value that has no clock, and that comes to the same by whatever process, however often, in whatever pieces the
/// log is read.
///
/// The rules are those of `docs/site-order.md`; so are the numbers that stand here, R, S and M. Others are those of `docs/monitor.md`.
package struct SiteOrder: Sendable {
    /// How long it waits, and how much it keeps.
    package let limits: OrderLimits
    /// What became of what it was given.
    package internal(set) var counters = OrderCounters()
    /// The adapters of all gateways, each at its number.
    package internal(set) var adapters: [SiteAdapter] = []
    /// All that was before it is known, and was handed on (rule M1).
    package private(set) var watermark = Instant.earliest

    var clock: LogClock
    private var fleet = ClockFleet()
    var streams: [GatewayStream] = []
    // Up to when those streams are complete that are waited for, at the streams' places.
    var live = LiveTimes()
    private var places: [StreamName: Int] = [:]
    private var numbers: [SiteAdapter: SiteAdapterNumber] = [:]
    private var held = Heap<HeldInput>()
    // How much room batches take that wait behind one that is missing.
    private var waitingRoom = 0
    // Whether batches are taken in: not at first, until all have come, and it is known what their clocks are worth.
    private var hasBegun = false
    // Nothing is to be given up before that, on the log's clock.
    var nextDeadline = Int64.max

    let timeout: Int64
    let catchUp: Int64
    let tolerance: Int64

    /// An order of nothing yet.
    package init(_ limits: OrderLimits = OrderLimits()) {
        self.limits = limits
        timeout = limits.gatewayTimeout.nanoseconds
        catchUp = limits.catchUpTimeout.nanoseconds
        tolerance = limits.clockTolerance.nanoseconds
        clock = LogClock(stepMax: limits.gatewayTimeout.nanoseconds / 2)
    }

    /// Takes the log's next batch.
    ///
    /// - Parameters:
    ///   - batch: what stands at the log's next offset that holds one.
    ///   - stored: when the log took it.
    ///   - inputs: where is added what the engine is to be told next, in its order. It is then to go on to ``watermark``.
    package mutating func take(_ batch: Batch, stored: Instant, into inputs: inout [SiteInput]) {
        guard batch.isPossible else {
            counters.refusedBatches += 1
            return
        }
        let name = StreamName(gateway: batch.key.gateway, boot: batch.key.boot)
        if let place = places[name], streams[place].has(batch.key.sequence) {
            // It says nothing new, nor does when it came.
            counters.repeatedBatches += 1
            return
        }
        let stored = min(stored, Batch.latest).nanoseconds
        clock.note(stored)
        if !hasBegun, clock.active >= 3 * timeout { begin() }
        if hasBegun, clock.active >= nextDeadline { giveUpOverdue() }
        note(batch, of: name, stored: stored)
        while held.count + waitingRoom > limits.heldMax, giveUpForRoom(into: &inputs) {}
        moveOn(into: &inputs)
    }

    // MARK: Batches

    private mutating func note(_ batch: Batch, of name: StreamName, stored: Int64) {
        let ahead = stored - batch.span.cut.nanoseconds
        guard let place = place(of: name, logAheadOfBoot: ahead) else {
            counters.refusedBatches += 1
            return
        }
        streams[place].heardAt = clock.active
        noteClock(of: place, batch.span, logAheadOfBoot: ahead)
        nextDeadline = min(nextDeadline, clock.active + timeout)
        let sequence = batch.key.sequence
        if sequence < streams[place].next {
            streams[place].noteLate(sequence)
            counters.lateBatches += 1
            counters.lateSightings += UInt64(batch.sightings.count)
        } else if hasBegun, sequence == streams[place].next {
            if !streams[place].waiting.isEmpty { counters.invertedBatches += 1 }
            takeIn(batch, of: place)
            takeInWaiting(of: place)
        } else {
            streams[place].wait(batch, at: clock.active)
            waitingRoom += batch.room
            if hasBegun, batch.span.isStart { takeInWaiting(of: place) }
            if hasBegun, streams[place].waiting.count > limits.waitingMax {
                counters.pressed += 1
                giveUpMissing(of: place)
            }
        }
    }

    /// Begins to take in what has come: the gateways' clocks are known by now.
    private mutating func begin() {
        hasBegun = true
        for place in streams.indices { takeInWaiting(of: place) }
    }

    private mutating func takeInWaiting(of place: Int) {
        repeat {
            while let batch = streams[place].takeNext() {
                waitingRoom -= batch.room
                takeIn(batch, of: place)
            }
        } while streams[place].leapToStart()
    }

    /// Waits no longer for the batches before the first that has come: nobody listened there.
    private mutating func giveUpMissing(of place: Int) {
        let count = streams[place].giveUp()
        // Before the first of a stream the log need not have any: it forgets what is old.
        if let completeTo = streams[place].completeTo {
            counters.missingBatches += count
            stopListening(of: place, at: completeTo, "batches are missing")
        }
        takeInWaiting(of: place)
    }

    // MARK: Streams

    /// The place of a gateway's start, made where it is new; absent where there is none for it.
    private mutating func place(of name: StreamName, logAheadOfBoot ahead: Int64) -> Int? {
        if let place = places[name] { return place }
        let stream = GatewayStream(gateway: name.gateway, boot: name.boot, logAheadOfBoot: ahead, at: clock.active)
        if streams.count < limits.streamsMax { return add(stream, name) }
        guard let place = forgettable else { return nil }
        counters.forgottenStreams += 1
        forget(place)
        return add(stream, name)
    }

    private mutating func add(_ stream: GatewayStream, _ name: StreamName) -> Int {
        streams.append(stream)
        live.append()
        places[name] = streams.count - 1
        return streams.count - 1
    }

    private mutating func forget(_ place: Int) {
        waitingRoom -= streams[place].waiting.values.reduce(0) { $0 + $1.batch.room }
        streams.remove(at: place)
        live.remove(at: place)
        places = [:]
        for (place, stream) in streams.enumerated() {
            places[StreamName(gateway: stream.gateway, boot: stream.boot)] = place
        }
    }

    /// The place of the stream that is not heard of any more and was complete longest ago.
    private var forgettable: Int? {
        streams.indices.filter { streams[$0].heardAt == nil }.min {
            let (left, right) = (streams[$0], streams[$1])
            if left.completeTo != right.completeTo { return left.completeTo ?? .min < right.completeTo ?? .min }
            return (left.gateway, left.boot) < (right.gateway, right.boot)
        }
    }

    /// Gives up what is overdue: missing batches, silent gateways, and those that stay behind (rule M3).
    private mutating func giveUpOverdue() {
        nextDeadline = .max
        for place in streams.indices {
            while let since = streams[place].waitingSince, clock.active - since >= timeout { giveUpMissing(of: place) }
            if let heardAt = streams[place].heardAt, clock.active - heardAt >= timeout { fallSilent(place) }
            if live[place] != nil, clock.active - streams[place].timelyAt >= catchUp {
                counters.laggards += 1
                leave(place, "what the gateway sends comes too late")
            }
            if let since = streams[place].waitingSince { nextDeadline = min(nextDeadline, since + timeout) }
            if let heardAt = streams[place].heardAt { nextDeadline = min(nextDeadline, heardAt + timeout) }
            if live[place] != nil { nextDeadline = min(nextDeadline, streams[place].timelyAt + catchUp) }
        }
    }

    /// Gives up what keeps most from being handed on, so that no more is held than may be.
    /// - Returns: whether there was anything to give up.
    private mutating func giveUpForRoom(into inputs: inout [SiteInput]) -> Bool {
        guard hasBegun else {
            begin()
            moveOn(into: &inputs)
            return true
        }
        let waiting = streams.indices.filter { !streams[$0].waiting.isEmpty }
        let oldest = waiting.min {
            let (left, right) = (streams[$0].waitingSince ?? .max, streams[$1].waitingSince ?? .max)
            return left != right ? left < right : $0 < $1
        }
        if let oldest {
            giveUpMissing(of: oldest)
        } else if let place = live.leastPlace {
            leave(place, "too much waits for what the gateway sends")
        } else {
            return false
        }
        counters.pressed += 1
        moveOn(into: &inputs)
        return true
    }

    // MARK: What is held

    /// The number of an adapter, given where it is new; absent past the most that are known.
    mutating func number(of adapter: SiteAdapter) -> SiteAdapterNumber? {
        if let number = numbers[adapter] { return number }
        guard adapters.count < limits.adaptersMax else { return nil }
        let number = SiteAdapterNumber(offset: Int32(adapters.count))
        adapters.append(adapter)
        numbers[adapter] = number
        return number
    }

    /// Holds an input until the watermark is behind it.
    mutating func hold(_ what: SiteInput.What, at time: Int64, of place: Int) {
        let input = SiteInput(
            place: SiteInput.Place(
                time: Instant(nanoseconds: time), gateway: streams[place].gateway, boot: streams[place].boot,
                sequence: streams[place].sequence, index: streams[place].index),
            what: what)
        streams[place].index += 1
        held.insert(HeldInput(input: input))
    }

    /// Moves the watermark to where all are complete that are waited for, and hands on what was before it (rule M1). While
    /// nobody is waited for it stays.
    private mutating func moveOn(into inputs: inout [SiteInput]) {
        if let least = live.least { watermark = max(watermark, Instant(nanoseconds: least)) }
        while let next = held.min, next.input.place.time < watermark { inputs.append(held.removeMin().input) }
    }

    // MARK: Batches in their turn

    // Times are nanoseconds.

    /// Takes the batch in whose turn it is.
    mutating func takeIn(_ batch: Batch, of place: Int) {
        counters.batches += 1
        streams[place].advance()
        let former = streams[place].completeTo
        let offset = believe(batch.span, of: place)
        let tolerance = tolerance
        // A clock that is slewed goes back by little between two batches, and what it dates is not late for that.
        func time(_ moment: Instant) -> Int64 {
            let time = moment.nanoseconds.saturatingPlus(offset)
            guard let former, time < former, former - time <= tolerance else { return time }
            return former
        }
        if let told = streams[place].toldTo, batch.span.from > told, let former {
            stopListening(of: place, at: former, "nothing is told of the time until then")
        }
        let numbers = begin(batch, of: place, at: time(batch.span.from))
        for input in batch.inputs { takeIn(input, by: numbers, of: place, time) }
        streams[place].completeTo = time(batch.span.completeTo)
        streams[place].toldTo = batch.span.completeTo
        settle(place)
    }

    /// Takes in who listens where a batch begins: those that it does not name do not.
    /// - Returns: the numbers of the batch's adapters; absent past the most that are known.
    private mutating func begin(_ batch: Batch, of place: Int, at time: Int64) -> [SiteAdapterNumber?] {
        let numbers = batch.adapters.map {
            number(of: SiteAdapter(name: "\(batch.key.gateway)/\($0.name)", address: $0.address))
        }
        for adapter in streams[place].listeners where !numbers.contains(adapter) {
            note(adapter, .stopped(adapter, since: nil, reason: nil), at: time, of: place)
        }
        for (adapter, number) in zip(batch.adapters, numbers) {
            guard let number, streams[place].listens(number) != adapter.isListening else { continue }
            note(
                number, adapter.isListening ? .listens(number, reason: nil) : .stopped(number, since: nil, reason: nil),
                at: time, of: place)
        }
        if live[place] == nil, time >= watermark.nanoseconds { join(place, at: time) }
        return numbers
    }

    /// Takes in one thing that a batch says.
    private mutating func takeIn(
        _ input: Batch.Input, by numbers: [SiteAdapterNumber?], of place: Int, _ siteTime: (Instant) -> Int64
    ) {
        let time = siteTime(input.time)
        if live[place] == nil, time >= watermark.nanoseconds { join(place, at: watermark.nanoseconds) }
        guard let adapter = numbers[input.adapter] else {
            if case .sighted = input { counters.unplacedSightings += 1 }
            return
        }
        switch input {
        case .heard: holdUnlessLate(.heard(adapter), at: time, of: place)
        case .sighted(let sighting):
            countSighting(at: time, of: place)
            holdUnlessLate(.sighted(sighting.advertiser, sighting.rssi, by: adapter), at: time, of: place)
        case .changed(let change):
            let what: SiteInput.What
            switch change.kind {
            case .started: what = .listens(adapter, reason: change.reason)
            case .stopped(let since):
                let since = Instant(nanoseconds: min(siteTime(since), time))
                what = .stopped(adapter, since: since, reason: change.reason)
            case .removed: what = .removed(adapter, reason: change.reason)
            }
            note(adapter, what, at: time, of: place)
        }
    }

    private func isLate(_ time: Int64, of place: Int) -> Bool { live[place] == nil || time < watermark.nanoseconds }

    private mutating func countSighting(at time: Int64, of place: Int) {
        if isLate(time, of: place) { counters.lateSightings += 1 } else { counters.sightings += 1 }
    }

    private mutating func holdUnlessLate(_ what: SiteInput.What, at time: Int64, of place: Int) {
        if !isLate(time, of: place) { hold(what, at: time, of: place) }
    }

    /// Notes what an adapter does from then on; where that comes late, from the watermark on.
    private mutating func note(
        _ adapter: SiteAdapterNumber, _ what: SiteInput.What, at time: Int64, of place: Int
    ) {
        if case .listens = what {
            streams[place].note(adapter, isListening: true)
        } else {
            streams[place].note(adapter, isListening: false)
        }
        if live[place] != nil { hold(what, at: max(time, watermark.nanoseconds), of: place) }
    }

    // MARK: Who is waited for

    /// Waits for a stream from a moment on: its adapters are said to listen that do.
    private mutating func join(_ place: Int, at time: Int64) {
        live[place] = time
        streams[place].joinedAt = time
        streams[place].timelyAt = clock.active
        nextDeadline = min(nextDeadline, clock.active + catchUp)
        if streams[place].clock.correction != 0 { hold(.clock(isCorrected: true), at: time, of: place) }
        for adapter in streams[place].listeners { hold(.listens(adapter, reason: nil), at: time, of: place) }
    }

    /// Waits for a stream no more: nobody knows what its adapters hear from where it is complete on.
    mutating func leave(_ place: Int, _ reason: String) {
        let present = watermark.nanoseconds
        let completeTo = streams[place].completeTo ?? present
        let time = max(completeTo, present)
        live[place] = nil
        let others = streams.indices.filter {
            live[$0] != nil && streams[$0].gateway == streams[place].gateway && streams[$0].joinedAt <= completeTo
        }
        for adapter in streams[place].listeners where !others.contains(where: { streams[$0].listens(adapter) }) {
            hold(.stopped(adapter, since: nil, reason: reason), at: time, of: place)
        }
        if streams[place].clock.correction != 0 { hold(.clock(isCorrected: false), at: time, of: place) }
    }

    /// Nothing of a stream was stored for so long that it is taken for silent (rule M3).
    private mutating func fallSilent(_ place: Int) {
        streams[place].heardAt = nil
        count(nil, of: place)
        guard live[place] != nil else { return }
        counters.silences += 1
        leave(place, "nothing comes from the gateway")
    }

    /// Decides whether a stream is waited for, now that a batch of its is taken in.
    private mutating func settle(_ place: Int) {
        let present = watermark.nanoseconds
        guard let completeTo = streams[place].completeTo else { return }
        if completeTo < present {
            if live[place] != nil { leave(place, "the gateway's clock went back") }
            return
        }
        if live[place] == nil { join(place, at: present) }
        live[place] = completeTo
        if let furthest = live.greatest, furthest - completeTo <= timeout { streams[place].timelyAt = clock.active }
    }

    /// What was told ends at a moment, and something is missing behind it: nobody is known to have listened there.
    mutating func stopListening(of place: Int, at time: Int64, _ reason: String) {
        for adapter in streams[place].listeners {
            streams[place].note(adapter, isListening: false)
            guard live[place] != nil else { continue }
            hold(.stopped(adapter, since: nil, reason: reason), at: max(time, watermark.nanoseconds), of: place)
        }
    }

    // MARK: Whose clock counts (rule S3)

    /// Takes in what the clocks of a batch say that has just been stored.
    mutating func noteClock(of place: Int, _ span: Batch.Span, logAheadOfBoot ahead: Int64) {
        streams[place].clock.note(logAheadOfBoot: ahead, at: clock.active, tolerance: tolerance)
        count(isSettled(place) ? streams[place].clock.least - span.claimed : nil, of: place)
    }

    // One that has just come may have been long on its way.
    private func isSettled(_ place: Int) -> Bool { clock.active - streams[place].clock.fellAt >= 2 * timeout }

    /// Decides what a stream's clock is worth with the batch whose turn it is.
    /// - Returns: what is added to the batch's times since the machine's start, for the site's.
    private mutating func believe(_ span: Batch.Span, of place: Int) -> Int64 {
        let former = streams[place].clock.correction
        guard let usual = fleet.middle else { return span.claimed.saturatingPlus(former) }
        let deviation = streams[place].clock.least - span.claimed - usual
        // No delay makes a clock seem to be ahead.
        if isBeyondTolerance(deviation - former), deviation < former || isSettled(place) {
            correct(place, by: isBeyondTolerance(deviation) ? deviation / 1_000_000 * 1_000_000 : 0)
        }
        return span.claimed.saturatingPlus(streams[place].clock.correction)
    }

    /// Counts a stream's clock among all as behind by so much, or not at all.
    private mutating func count(_ skew: Int64?, of place: Int) {
        guard streams[place].skew != skew else { return }
        if let former = streams[place].skew { fleet.remove(former) }
        if let skew { fleet.add(skew) }
        streams[place].skew = skew
    }

    private func isBeyondTolerance(_ time: Int64) -> Bool { time.magnitude > UInt64(tolerance) }

    private mutating func correct(_ place: Int, by correction: Int64) {
        let wasCorrected = streams[place].clock.correction != 0
        streams[place].clock.correction = correction
        counters.corrections += 1
        guard live[place] != nil, wasCorrected != (correction != 0) else { return }
        let time = max(streams[place].completeTo ?? 0, watermark.nanoseconds)
        hold(.clock(isCorrected: correction != 0), at: time, of: place)
    }
}

/// An input in its place among those that are held.
private struct HeldInput: Sendable, Comparable {
    let input: SiteInput

    static func < (left: HeldInput, right: HeldInput) -> Bool { left.input.place < right.input.place }
}

/// Which start of which gateway.
private struct StreamName: Sendable, Hashable {
    let gateway: LogName
    let boot: UInt128
}

extension Batch.Input {
    /// The adapter's place in the batch.
    fileprivate var adapter: Int {
        switch self {
        case .heard(let adapter, _): adapter
        case .changed(let change): change.adapter
        case .sighted(let sighting): sighting.adapter
        }
    }
}

extension Batch.Span {
    /// How far the gateway says that the time since 1970 is ahead of that since its machine's start.
    fileprivate var claimed: Int64 { wall.nanoseconds - cut.nanoseconds }
}

extension Int64 {
    // As far as an instant goes, before and behind the beginning.
    private static var most: Int64 { Instant.latest.nanoseconds }

    /// The sum, or the bound that it would pass.
    fileprivate func saturatingPlus(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? -Self.most : Self.most) : Swift.min(Swift.max(sum, -Self.most), Self.most)
    }
}
