import BaseTypes
import SiteMonitoring

/// A second, naive implementation of `docs/site-order.md`. It follows only the text: it keeps everything, and searches
/// and sorts it again each time.
struct NaiveOrder {
    struct Input: Equatable {
        var time: Int64
        var gateway: String
        var boot: UInt128
        var sequence: UInt64
        var index: Int
        var text: String

        /// Returns whether `left` is before `right` (rule M1).
        static func precedes(_ left: Input, _ right: Input) -> Bool {
            if left.time != right.time { return left.time < right.time }
            if left.gateway != right.gateway {
                return Array(left.gateway.utf8).lexicographicallyPrecedes(right.gateway.utf8)
            }
            if left.boot != right.boot { return left.boot < right.boot }
            return (left.sequence, left.index) < (right.sequence, right.index)
        }
    }

    struct Stream {
        var gateway: String
        var boot: UInt128
        var taken: Set<UInt64> = []
        var givenUp: Set<UInt64> = []
        var lateOnes: Set<UInt64> = []
        var next: UInt64 = 1
        var waiting: [(batch: Batch, at: Int64)] = []
        var receivedAt: Int64
        var isSilent = false
        var isWaitedFor = false
        var waitedForFrom: Int64 = 0
        var nearAt: Int64 = 0
        var completeTo: Int64?
        var completeToSinceBoot: Instant?
        var listening: [(name: String, isListening: Bool)] = []
        var stored: [(ahead: Int64, at: Int64)] = []
        var skew: Int64?
        var correction: Int64 = 0
        var sequence: UInt64 = 0
        var index = 0

        func listens(_ name: String) -> Bool { listening.contains { $0.name == name && $0.isListening } }
    }

    let limits: OrderLimits
    var reported: [Input] = []
    var held: [Input] = []
    var watermark: Int64 = 0
    var active: Int64 = 0
    var storedBefore: Int64?
    var streams: [Stream] = []
    var late: UInt64 = 0
    var hasBegun = false

    init(_ limits: OrderLimits) { self.limits = limits }

    private var timeout: Int64 { limits.gatewayTimeout.nanoseconds }
    private var tolerance: Int64 { limits.clockTolerance.nanoseconds }

    mutating func take(_ batch: Batch, stored: Instant) {
        let (name, boot, sequence) = (batch.key.gateway.description, batch.key.boot, batch.key.sequence)
        var place = streams.firstIndex { $0.gateway == name && $0.boot == boot }
        // R1.
        if let place {
            let stream = streams[place]
            let isTaken =
                sequence < stream.next && (!stream.givenUp.contains(sequence) || stream.lateOnes.contains(sequence))
            if isTaken || stream.waiting.contains(where: { $0.batch.key.sequence == sequence }) { return }
        }
        if let storedBefore { active += max(0, min(stored.nanoseconds - storedBefore, timeout / 2)) }
        storedBefore = stored.nanoseconds
        // M5.
        if !hasBegun, active >= 3 * timeout { begin() }
        if hasBegun { for place in streams.indices { giveUpOverdue(place) } }
        if place == nil {
            // R5.
            if streams.count == limits.streamsMax {
                let silent = streams.indices.filter { streams[$0].isSilent }.sorted {
                    let (left, right) = (streams[$0], streams[$1])
                    let (one, two) = (left.completeTo ?? .min, right.completeTo ?? .min)
                    if one != two { return one < two }
                    if left.gateway != right.gateway { return left.gateway < right.gateway }
                    return left.boot < right.boot
                }
                guard let first = silent.first else { return moveOn() }
                streams.remove(at: first)
            }
            streams.append(Stream(gateway: name, boot: boot, receivedAt: active))
            place = streams.count - 1
        }
        note(batch, stored.nanoseconds, place!)
        while held.count + streams.flatMap(\.waiting).reduce(0, { $0 + $1.batch.room }) > limits.heldMax {
            guard giveUpForRoom() else { break }
        }
        moveOn()
    }

    // MARK: Batches that count

    private mutating func note(_ batch: Batch, _ stored: Int64, _ place: Int) {
        let sequence = batch.key.sequence
        streams[place].stored.append((stored - batch.span.cut.nanoseconds, active))
        streams[place].receivedAt = active
        streams[place].isSilent = false
        let (least, isSettled) = clock(place)
        streams[place].skew = isSettled ? least - (batch.span.wall.nanoseconds - batch.span.cut.nanoseconds) : nil
        if sequence < streams[place].next {
            streams[place].lateOnes.insert(sequence)
            late += UInt64(batch.sightings.count)
        } else {
            streams[place].waiting.append((batch, active))
            guard hasBegun else { return }
            takeInWaiting(place)
            if streams[place].waiting.count > limits.waitingMax { giveUp(place) }
        }
    }

    private mutating func begin() {
        hasBegun = true
        for place in streams.indices { takeInWaiting(place) }
    }

    private mutating func takeInWaiting(_ place: Int) {
        while let first = streams[place].waiting.indices.min(by: {
            streams[place].waiting[$0].batch.key.sequence < streams[place].waiting[$1].batch.key.sequence
        }) {
            let batch = streams[place].waiting[first].batch
            // R2: the first batch of a process waits for nothing.
            guard batch.key.sequence == streams[place].next || batch.span.isStart else { return }
            for sequence in streams[place].next..<batch.key.sequence { streams[place].givenUp.insert(sequence) }
            streams[place].waiting.remove(at: first)
            takeIn(batch, place)
        }
    }

    /// Gives up the missing batches before the first waiting one (rules R2, R3).
    private mutating func giveUp(_ place: Int) {
        guard let first = streams[place].waiting.map(\.batch.key.sequence).min() else { return }
        for sequence in streams[place].next..<first { streams[place].givenUp.insert(sequence) }
        streams[place].next = first
        if let completeTo = streams[place].completeTo { stopAll(place, completeTo, "batches are missing") }
        takeInWaiting(place)
    }

    private mutating func giveUpOverdue(_ place: Int) {
        while let oldest = streams[place].waiting.map(\.at).min(), active - oldest >= timeout { giveUp(place) }
        // M3.
        if !streams[place].isSilent, active - streams[place].receivedAt >= timeout {
            streams[place].isSilent = true
            if streams[place].isWaitedFor { leave(place, "the gateway sends nothing") }
        }
        if streams[place].isWaitedFor, active - streams[place].nearAt >= limits.catchUpTimeout.nanoseconds {
            leave(place, "the gateway's data arrives too late")
        }
    }

    /// Makes room: ends the first 15 s, gives up missing batches, or stops waiting for a stream (rule R4).
    private mutating func giveUpForRoom() -> Bool {
        guard hasBegun else {
            begin()
            moveOn()
            return true
        }
        var oldest: (place: Int, at: Int64)?
        for place in streams.indices {
            for one in streams[place].waiting where one.at < oldest?.at ?? .max { oldest = (place, one.at) }
        }
        if let oldest {
            giveUp(oldest.place)
        } else {
            let waitedFor = streams.indices.filter { streams[$0].isWaitedFor }
            guard let first = waitedFor.min(by: { streams[$0].completeTo! < streams[$1].completeTo! }) else {
                return false
            }
            leave(first, "too much data of other gateways waits for this one")
        }
        moveOn()
        return true
    }

    // MARK: A batch

    private mutating func takeIn(_ batch: Batch, _ place: Int) {
        streams[place].taken.insert(batch.key.sequence)
        streams[place].next = batch.key.sequence + 1
        streams[place].sequence = batch.key.sequence
        streams[place].index = 0
        believe(batch, place)
        let before = streams[place].completeTo
        let offset = batch.span.wall.nanoseconds - batch.span.cut.nanoseconds + streams[place].correction
        let tolerance = tolerance
        // S4.
        func siteTime(_ moment: Instant) -> Int64 {
            let time = moment.nanoseconds + offset
            if let before, time < before, before - time <= tolerance { return before }
            return time
        }
        if let completeToSinceBoot = streams[place].completeToSinceBoot, let before,
            batch.span.from > completeToSinceBoot
        {
            stopAll(place, before, "no batch covers the time until the next batch")
        }
        let names = batch.adapters.map { "\(batch.key.gateway)/\($0.name)" }
        let begin = siteTime(batch.span.from)
        for adapter in streams[place].listening where adapter.isListening && !names.contains(adapter.name) {
            change(place, adapter.name, false, begin, "stopped")
        }
        for (adapter, name) in zip(batch.adapters, names) where adapter.isListening != streams[place].listens(name) {
            change(place, name, adapter.isListening, begin, adapter.isListening ? "listens" : "stopped")
        }
        if !streams[place].isWaitedFor, begin >= watermark { waitFor(place, begin) }
        for input in batch.inputs {
            let time = siteTime(input.time)
            if !streams[place].isWaitedFor, time >= watermark { waitFor(place, watermark) }
            let isLate = !streams[place].isWaitedFor || time < watermark
            take(input, place, names, time, isLate: isLate, siteTime)
        }
        let completeTo = siteTime(batch.span.completeTo)
        streams[place].completeTo = completeTo
        streams[place].completeToSinceBoot = batch.span.completeTo
        if completeTo < watermark {
            if streams[place].isWaitedFor { leave(place, "the gateway's clock went back") }
            return
        }
        if !streams[place].isWaitedFor { waitFor(place, watermark) }
        let furthest = streams.filter(\.isWaitedFor).compactMap(\.completeTo).max() ?? completeTo
        if furthest - completeTo <= timeout { streams[place].nearAt = active }
    }

    private mutating func take(
        _ input: Batch.Input, _ place: Int, _ names: [String], _ time: Int64, isLate: Bool,
        _ siteTime: (Instant) -> Int64
    ) {
        switch input {
        case .received(let adapter, _): if !isLate { hold(place, time, "\(names[adapter]) heard") }
        case .sighted(let sighting):
            let (minor, rssi) = (sighting.advertiser.beacon.minor, sighting.rssi.map { "\($0.dBm)" } ?? "-")
            if isLate {
                late += 1
            } else {
                hold(place, time, "\(names[sighting.adapter]) sighted \(minor) \(rssi)")
            }
        case .changed(let change):
            let reason = change.reason.map { " \($0)" } ?? ""
            let text: String
            switch change.kind {
            case .started: text = "listens"
            case .stopped(let since): text = "stopped since \(max(0, min(siteTime(since), time)))"
            case .removed: text = "removed"
            }
            self.change(place, names[change.adapter], change.kind == .started, time, text + reason)
        }
    }

    private mutating func change(_ place: Int, _ name: String, _ isListening: Bool, _ time: Int64, _ text: String) {
        streams[place].listening.removeAll { $0.name == name && $0.isListening == isListening }
        if let known = streams[place].listening.firstIndex(where: { $0.name == name }) {
            streams[place].listening[known].isListening = isListening
        } else {
            streams[place].listening.append((name, isListening))
        }
        if streams[place].isWaitedFor { hold(place, max(time, watermark), "\(name) \(text)") }
    }

    private mutating func stopAll(_ place: Int, _ time: Int64, _ reason: String) {
        for adapter in streams[place].listening where adapter.isListening {
            change(place, adapter.name, false, time, "stopped \(reason)")
        }
    }

    private mutating func hold(_ place: Int, _ time: Int64, _ text: String) {
        let stream = streams[place]
        held.append(
            Input(
                time: time, gateway: stream.gateway, boot: stream.boot, sequence: stream.sequence, index: stream.index,
                text: text))
        streams[place].index += 1
    }

    // MARK: Clocks

    /// Returns the smallest difference, and whether it is settled (rule S1).
    private func clock(_ place: Int) -> (Int64, Bool) {
        let history = streams[place].stored
        var (least, reference, fellAt) = (history[0].ahead, history[0].ahead, history[0].at)
        for index in 1..<max(history.count, 1) {
            least = min(least + (history[index].at - history[index - 1].at) / 5_000, history[index].ahead)
            if least < reference - tolerance / 2 { (reference, fellAt) = (least, history[index].at) }
        }
        return (least, active - fellAt >= 2 * timeout)
    }

    private mutating func believe(_ batch: Batch, _ place: Int) {
        let (least, isSettled) = clock(place)
        let skew = least - (batch.span.wall.nanoseconds - batch.span.cut.nanoseconds)
        // S2.
        let all = ([0] + streams.filter { !$0.isSilent }.compactMap(\.skew)).sorted()
        guard all.count > 1 else { return }
        let (low, high) = (all[(all.count - 1) / 2], all[all.count / 2])
        let deviation = skew - (abs(high) < abs(low) ? high : low)
        // S3.
        let former = streams[place].correction
        guard abs(deviation - former) > tolerance else { return }
        guard deviation < former || isSettled else { return }
        streams[place].correction = abs(deviation) > tolerance ? deviation / 1_000_000 * 1_000_000 : 0
        guard streams[place].isWaitedFor, (former == 0) != (streams[place].correction == 0) else { return }
        hold(place, max(streams[place].completeTo ?? 0, watermark), "corrected \(streams[place].correction != 0)")
    }

    // MARK: The watermark

    private mutating func waitFor(_ place: Int, _ time: Int64) {
        streams[place].isWaitedFor = true
        streams[place].waitedForFrom = time
        streams[place].nearAt = active
        if streams[place].correction != 0 { hold(place, time, "corrected true") }
        for adapter in streams[place].listening where adapter.isListening {
            hold(place, time, "\(adapter.name) listens")
        }
    }

    private mutating func leave(_ place: Int, _ reason: String) {
        streams[place].isWaitedFor = false
        let completeTo = streams[place].completeTo ?? watermark
        for adapter in streams[place].listening where adapter.isListening {
            let isReceivedByAnother = streams.contains {
                $0.isWaitedFor && $0.gateway == streams[place].gateway && $0.waitedForFrom <= completeTo
                    && $0.listens(adapter.name)
            }
            if !isReceivedByAnother { hold(place, max(completeTo, watermark), "\(adapter.name) stopped \(reason)") }
        }
        if streams[place].correction != 0 { hold(place, max(completeTo, watermark), "corrected false") }
    }

    private mutating func moveOn() {
        if let least = streams.filter(\.isWaitedFor).compactMap(\.completeTo).min() {
            watermark = max(watermark, least)
        }
        held.sort(by: Input.precedes)
        while let first = held.first, first.time < watermark { reported.append(held.removeFirst()) }
    }
}
