package import BaseTypes
import HeapModule

/// Puts the sightings and changes of a site's gateways into one order for its engine, from the batches of the site's
/// log alone.
///
/// The order is a value without a clock. Its result is the same in every process, however often the log is read and in
/// whatever pieces. `docs/site-order.md` has its rules: R, S and M in comments here. Other rules are in
/// `docs/monitor.md`.
package struct SiteOrder: Sendable {
    /// How long the order waits, and how much data it holds.
    package let limits: OrderLimits
    /// The counts of batches and inputs.
    package internal(set) var counters = OrderCounters()
    /// The adapters of all gateways, by number.
    package internal(set) var adapters: [SiteAdapter] = []
    /// Everything before this time is known and was passed on (rule M1).
    package private(set) var watermark = Instant.earliest

    var clock: LogClock
    private var fleet = ClockFleet()
    var streams: [GatewayStream] = []
    // The time to which each stream that is waited for is complete, by the index of the stream.
    var live = LiveTimes()
    private var places: [StreamName: Int] = [:]
    private var numbers: [SiteAdapter: SiteAdapterNumber] = [:]
    private var held = Heap<HeldInput>()
    // The room of the batches that wait for a missing one, as a number of inputs.
    private var waitingRoom = 0
    // Whether batches are accepted. In the first 15 s of log time (three times `gatewayTimeout`) they only wait. After
    // that, all gateways have sent, and the accuracy of their clocks is known (rule M5).
    private var hasBegun = false
    // Before this log time, nothing is overdue.
    var nextDeadline = Int64.max

    let timeout: Int64
    let catchUp: Int64
    let tolerance: Int64

    /// Creates an order that has received nothing.
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
    ///   - batch: the batch at the next offset of the log that contains one.
    ///   - stored: when the log accepted it.
    ///   - inputs: the array to which the next inputs for the engine are appended, in their order. The engine must then
    ///     advance to ``watermark``.
    package mutating func take(_ batch: Batch, stored: Instant, into inputs: inout [SiteInput]) {
        guard batch.isPossible else {
            counters.refusedBatches += 1
            return
        }
        let name = StreamName(gateway: batch.key.gateway, boot: batch.key.boot)
        if let place = places[name], streams[place].has(batch.key.sequence) {
            // A repeated batch has nothing new, and its time of storage does not count.
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
        streams[place].lastStoredAt = clock.active
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

    /// Starts to accept the waiting batches, because the accuracy of the gateways' clocks is known now.
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

    /// Gives up the batches before the first waiting one. Their time counts as not scanned (rule R3).
    private mutating func giveUpMissing(of place: Int) {
        let count = streams[place].giveUp()
        // Missing batches before the first accepted one of a stream are not counted, because the log deletes old
        // batches.
        if let completeTo = streams[place].completeTo {
            counters.missingBatches += count
            stopListening(of: place, at: completeTo, "batches are missing")
        }
        takeInWaiting(of: place)
    }

    // MARK: Streams

    /// Returns the index of a stream, and adds it if it is new. Returns `nil` if there is no room for it.
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

    /// The index of the silent stream that was complete to the earliest time.
    private var forgettable: Int? {
        streams.indices.filter { streams[$0].lastStoredAt == nil }.min {
            let (left, right) = (streams[$0], streams[$1])
            if left.completeTo != right.completeTo { return left.completeTo ?? .min < right.completeTo ?? .min }
            return (left.gateway, left.boot) < (right.gateway, right.boot)
        }
    }

    /// Gives up everything that is overdue: missing batches, silent gateways, and gateways that remain too far behind
    /// (rule M3).
    private mutating func giveUpOverdue() {
        nextDeadline = .max
        for place in streams.indices {
            while let since = streams[place].waitingSince, clock.active - since >= timeout { giveUpMissing(of: place) }
            if let lastStoredAt = streams[place].lastStoredAt, clock.active - lastStoredAt >= timeout {
                fallSilent(place)
            }
            if live[place] != nil, clock.active - streams[place].timelyAt >= catchUp {
                counters.laggards += 1
                leave(place, "the gateway's data arrives too late")
            }
            if let since = streams[place].waitingSince { nextDeadline = min(nextDeadline, since + timeout) }
            if let lastStoredAt = streams[place].lastStoredAt {
                nextDeadline = min(nextDeadline, lastStoredAt + timeout)
            }
            if live[place] != nil { nextDeadline = min(nextDeadline, streams[place].timelyAt + catchUp) }
        }
    }

    /// Makes room (rule R4). In the first 15 s, it starts to accept batches. After that, it gives up the missing
    /// batches for which other batches have waited longest. If no batch waits, it stops waiting for the stream that is
    /// complete to the earliest time.
    ///
    /// - Returns: whether anything could be done.
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
            leave(place, "too much data of other gateways waits for this one")
        } else {
            return false
        }
        counters.pressed += 1
        moveOn(into: &inputs)
        return true
    }

    // MARK: Held inputs

    /// Returns the number of an adapter, and adds the adapter if it is new. Returns `nil` if there are too many.
    mutating func number(of adapter: SiteAdapter) -> SiteAdapterNumber? {
        if let number = numbers[adapter] { return number }
        guard adapters.count < limits.adaptersMax else { return nil }
        let number = SiteAdapterNumber(offset: Int32(adapters.count))
        adapters.append(adapter)
        numbers[adapter] = number
        return number
    }

    /// Holds an input until the watermark has passed it.
    mutating func hold(_ content: SiteInput.Content, at time: Int64, of place: Int) {
        let input = SiteInput(
            place: SiteInput.Place(
                time: Instant(nanoseconds: time), gateway: streams[place].gateway, boot: streams[place].boot,
                sequence: streams[place].sequence, index: streams[place].index),
            content: content)
        streams[place].index += 1
        held.insert(HeldInput(input: input))
    }

    /// Moves the watermark to the earliest time to which a stream that is waited for is complete, and passes on
    /// everything before it (rule M1). If no stream is waited for, the watermark does not change.
    private mutating func moveOn(into inputs: inout [SiteInput]) {
        if let least = live.least { watermark = max(watermark, Instant(nanoseconds: least)) }
        while let next = held.min, next.input.place.time < watermark { inputs.append(held.removeMin().input) }
    }

    // MARK: Accepted batches

    // Times are nanoseconds.

    /// Accepts the next batch in sequence.
    mutating func takeIn(_ batch: Batch, of place: Int) {
        counters.batches += 1
        streams[place].advance()
        let former = streams[place].completeTo
        let offset = believe(batch.span, of: place)
        let tolerance = tolerance
        // A slewed clock goes back a little between two batches. Its data must not count as late because of that (rule
        // S4).
        func time(_ moment: Instant) -> Int64 {
            let time = moment.nanoseconds.saturatingPlus(offset)
            guard let former, time < former, former - time <= tolerance else { return time }
            return former
        }
        if let reported = streams[place].completeToSinceBoot, batch.span.from > reported, let former {
            stopListening(of: place, at: former, "no batch covers the time until the next batch")
        }
        let numbers = begin(batch, of: place, at: time(batch.span.from))
        for input in batch.inputs { takeIn(input, by: numbers, of: place, time) }
        streams[place].completeTo = time(batch.span.completeTo)
        streams[place].completeToSinceBoot = batch.span.completeTo
        settle(place)
    }

    /// Records which adapters scan at the start of a batch. Those that it does not name do not scan.
    ///
    /// - Returns: the numbers of the batch's adapters; `nil` for an adapter above the maximum.
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

    /// Accepts one input of a batch.
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
        case .received: holdUnlessLate(.received(by: adapter), at: time, of: place)
        case .sighted(let sighting):
            countSighting(at: time, of: place)
            holdUnlessLate(.sighted(sighting.advertiser, sighting.rssi, by: adapter), at: time, of: place)
        case .changed(let change):
            let content: SiteInput.Content
            switch change.kind {
            case .started: content = .listens(adapter, reason: change.reason)
            case .stopped(let since):
                let since = Instant(nanoseconds: min(siteTime(since), time))
                content = .stopped(adapter, since: since, reason: change.reason)
            case .removed: content = .removed(adapter, reason: change.reason)
            }
            note(adapter, content, at: time, of: place)
        }
    }

    private func isLate(_ time: Int64, of place: Int) -> Bool { live[place] == nil || time < watermark.nanoseconds }

    private mutating func countSighting(at time: Int64, of place: Int) {
        if isLate(time, of: place) { counters.lateSightings += 1 } else { counters.sightings += 1 }
    }

    private mutating func holdUnlessLate(_ content: SiteInput.Content, at time: Int64, of place: Int) {
        if !isLate(time, of: place) { hold(content, at: time, of: place) }
    }

    /// Records a change of scanning. If it is late, it is valid from the watermark on (rule M4).
    private mutating func note(
        _ adapter: SiteAdapterNumber, _ content: SiteInput.Content, at time: Int64, of place: Int
    ) {
        if case .listens = content {
            streams[place].note(adapter, isListening: true)
        } else {
            streams[place].note(adapter, isListening: false)
        }
        if live[place] != nil { hold(content, at: max(time, watermark.nanoseconds), of: place) }
    }

    // MARK: Streams that are waited for

    /// Starts to wait for a stream. Its adapters that scan count as scanning from `time` on (rule M2).
    private mutating func join(_ place: Int, at time: Int64) {
        live[place] = time
        streams[place].joinedAt = time
        streams[place].timelyAt = clock.active
        nextDeadline = min(nextDeadline, clock.active + catchUp)
        if streams[place].clock.correction != 0 { hold(.clock(isCorrected: true), at: time, of: place) }
        for adapter in streams[place].listeners { hold(.listens(adapter, reason: nil), at: time, of: place) }
    }

    /// Stops waiting for a stream. Its adapters count as stopped from the time to which it is complete, because later
    /// data are unknown. An adapter does not stop if another stream of the gateway reports that it scans (rule M3).
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

    /// Handles the silence of a stream of which nothing was stored for ``OrderLimits/gatewayTimeout`` (rule M3).
    private mutating func fallSilent(_ place: Int) {
        streams[place].lastStoredAt = nil
        count(nil, of: place)
        guard live[place] != nil else { return }
        counters.silences += 1
        leave(place, "the gateway sends nothing")
    }

    /// Decides whether a stream is waited for, after a batch of it was accepted.
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

    /// Stops all adapters of a stream at a time after which data are missing, because it is unknown whether they
    /// scanned.
    mutating func stopListening(of place: Int, at time: Int64, _ reason: String) {
        for adapter in streams[place].listeners {
            streams[place].note(adapter, isListening: false)
            guard live[place] != nil else { continue }
            hold(.stopped(adapter, since: nil, reason: reason), at: max(time, watermark.nanoseconds), of: place)
        }
    }

    // MARK: Clocks (rules S1 to S5)

    /// Records the clocks of a batch that was just stored.
    mutating func noteClock(of place: Int, _ span: Batch.Span, logAheadOfBoot ahead: Int64) {
        streams[place].clock.note(logAheadOfBoot: ahead, at: clock.active, tolerance: tolerance)
        count(isSettled(place) ? streams[place].clock.least - span.claimed : nil, of: place)
    }

    // A batch of a new stream, or after a decrease of the minimum, can have been delayed (rule S1).
    private func isSettled(_ place: Int) -> Bool { clock.active - streams[place].clock.fellAt >= 2 * timeout }

    /// Decides the correction of a stream's clock with the batch that is accepted (rule S3).
    ///
    /// - Returns: the value that is added to the batch's times since the machine's start to get the site's time (rule
    ///   S4).
    private mutating func believe(_ span: Batch.Span, of place: Int) -> Int64 {
        let former = streams[place].clock.correction
        guard let usual = fleet.middle else { return span.claimed.saturatingPlus(former) }
        let deviation = streams[place].clock.least - span.claimed - usual
        // A backward correction is immediate, because no delay can make a clock seem to be ahead.
        if isBeyondTolerance(deviation - former), deviation < former || isSettled(place) {
            correct(place, by: isBeyondTolerance(deviation) ? deviation / 1_000_000 * 1_000_000 : 0)
        }
        return span.claimed.saturatingPlus(streams[place].clock.correction)
    }

    /// Counts how far a stream's clock is behind among all clocks; `nil` removes it.
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

/// A held input, sorted by its place.
private struct HeldInput: Sendable, Comparable {
    let input: SiteInput

    static func < (left: HeldInput, right: HeldInput) -> Bool { left.input.place < right.input.place }
}

/// Identifies a boot of a gateway.
private struct StreamName: Sendable, Hashable {
    let gateway: LogName
    let boot: UInt128
}

extension Batch.Input {
    /// The adapter's index in the batch.
    fileprivate var adapter: Int {
        switch self {
        case .received(let adapter, _): adapter
        case .changed(let change): change.adapter
        case .sighted(let sighting): sighting.adapter
        }
    }
}

extension Batch.Span {
    /// How far the gateway's wall clock is ahead of the clock since its machine's start.
    fileprivate var claimed: Int64 { wall.nanoseconds - cut.nanoseconds }
}

extension Int64 {
    // The largest value of an instant. Sums are limited to this value in both directions.
    private static var most: Int64 { Instant.latest.nanoseconds }

    /// Returns the sum, or the limit that it would exceed.
    fileprivate func saturatingPlus(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? -Self.most : Self.most) : Swift.min(Swift.max(sum, -Self.most), Self.most)
    }
}
