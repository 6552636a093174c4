package import BaseTypes
internal import HeapModule

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
    var fleet = ClockFleet()
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
    mutating func giveUpMissing(of place: Int) {
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
