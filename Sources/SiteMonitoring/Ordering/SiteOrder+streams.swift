internal import BaseTypes

// What a batch whose turn it is comes to, and what follows from a gateway's coming and going. Times are nanoseconds.
extension SiteOrder {
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

// Who is waited for.
extension SiteOrder {
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
    mutating func fallSilent(_ place: Int) {
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
}

// Whose clock counts (rule S3).
extension SiteOrder {
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
