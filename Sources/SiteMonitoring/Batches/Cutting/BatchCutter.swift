package import BaseTypes
package import BluetoothLE

/// What a gateway hears, made into batches: taken in as it comes, and cut when the time has come.
///
/// A value: it has no clock and sends nothing. It is given each report, sighting and change as the gateway's own engine is,
/// with the same times. What is earlier than what was cut already is taken to be of the next batch's beginning, as an engine
/// handles what is late (rule T2).
package struct BatchCutter: Sendable {
    /// Inputs that were not taken as they came, from its making on.
    package struct Counts: Sendable, Hashable {
        /// Inputs that were earlier than the last cut.
        package var late: UInt64 = 0
        /// Sightings and changes that did not fit; their adapters are told not to have listened.
        package var dropped: UInt64 = 0
        /// Times that an adapter got no place: its name can be none, or there are too many.
        package var adaptersRefused: UInt64 = 0

        /// All at 0.
        package init() {}
    }

    /// What goes into all batches.
    package struct Settings: Sendable, Hashable {
        /// The site that they are for.
        package var site: LogName
        /// Who sends them.
        package var gateway: LogName
        /// Which start of his machine.
        package var boot: UInt128
        /// How many octets a batch may have: `max_batch`. One that can't be divided may have more, some
        /// 36,000 where a gateway has 255 adapters.
        package var octetsMax = LogLimits().batchOctetsMax
        /// How many sightings and changes wait for the next cut at most.
        package var pendingMax = 65_536

        /// For a site, of a gateway, in a start of its machine.
        package init(site: LogName, gateway: LogName, boot: UInt128) {
            self.site = site
            self.gateway = gateway
            self.boot = boot
        }
    }

    /// The number of the next batch.
    package private(set) var nextSequence: UInt64
    /// What it counted.
    package private(set) var counts = Counts()

    let settings: Settings
    private var adapters = CutAdapters()
    private var sightings: [Batch.Sighting] = []
    private var changes: [Batch.Change] = []
    private var from: Instant
    private var isStart = true

    /// Nothing heard, from `start` on; the first batch gets that number.
    package init(_ settings: Settings, nextSequence: UInt64, start: Instant) {
        self.settings = settings
        self.nextSequence = nextSequence
        from = start.wholeMicroseconds
    }

    // MARK: What comes

    /// Finds the place of the adapter of that name, or makes it.
    ///
    /// - Parameters:
    ///   - name: what the gateway's lines call it; who goes by the name of one that was taken out is another one.
    ///   - address: its controller's, where it has one that is its own.
    /// - Returns: what to tell of it by; absent where there is no place for it, which is counted.
    package mutating func adapter(named name: String, address: DeviceAddress?) -> Int? {
        let place = adapters.place(of: name, address)
        if place == nil { counts.adaptersRefused += 1 }
        return place
    }

    /// An adapter delivered a report, of whatever kind.
    package mutating func heard(_ adapter: Int, at time: Instant) { _ = take(adapter, at: time) }

    /// An adapter delivered a report with an iBeacon in it.
    package mutating func sighted(_ advertiser: Batch.Advertiser, rssi: RSSI?, by adapter: Int, at time: Instant) {
        guard hasRoom(for: adapter, at: time), let time = take(adapter, at: time) else { return }
        sightings.append(Batch.Sighting(at: time, adapter: adapter, advertiser, rssi: rssi))
    }

    /// An adapter began or ceased to listen, or was taken out. What changes nothing is left out.
    package mutating func changed(_ kind: Batch.Change.Kind, _ adapter: Int, at time: Instant, reason: String?) {
        guard adapters.isPlace(adapter), adapters[adapter].isChanged(by: kind), hasRoom(for: adapter, at: time) else {
            return
        }
        note(kind, adapter, at: admit(time), reason: reason)
    }

    /// Takes a report's time; makes known that its adapter listens, where it was not known.
    ///
    /// - Returns: the time that it has here; absent where there is no such adapter, or it waits for the next cut.
    private mutating func take(_ adapter: Int, at time: Instant) -> Instant? {
        guard adapters.isPlace(adapter), !adapters[adapter].isOverfull else { return nil }
        if !adapters[adapter].listens { note(.started, adapter, at: admit(time), reason: nil) }
        let time = adapters[adapter].admit(admit(time))
        adapters[adapter].hear(at: time)
        return time
    }

    private mutating func admit(_ time: Instant) -> Instant {
        let time = time.wholeMicroseconds
        if time < from { counts.late += 1 }
        return max(time, from)
    }

    private mutating func note(_ kind: Batch.Change.Kind, _ adapter: Int, at time: Instant, reason: String?) {
        let time = adapters[adapter].change(kind, at: time)
        do throws(BatchError) {
            let kind =
                if case .stopped(let since) = kind { Batch.Change.Kind.stopped(since: min(since, time)) } else { kind }
            changes.append(
                try Batch.Change(kind, adapter: adapter, at: time, reason: reason.map(Batch.Change.words)))
        } catch { preconditionFailure("a change of our own is none: \(error)") }
    }

    /// Whether more may wait. Where not, the adapter is told to have stopped at what was taken of it last, until the next cut.
    private mutating func hasRoom(for adapter: Int, at time: Instant) -> Bool {
        guard sightings.count + changes.count >= settings.pendingMax else { return true }
        counts.dropped += 1
        guard adapters.isPlace(adapter), !adapters[adapter].isOverfull else { return false }
        if adapters[adapter].listens {
            let time = admit(time)
            note(
                .stopped(since: adapters[adapter].lastHeard ?? time), adapter, at: time,
                reason: "more was heard than could be sent")
        }
        adapters[adapter].isOverfull = true
        return false
    }

    // MARK: What goes

    /// Cuts what was heard before `completeTo`: into one batch, also where nothing was, or several where one would be too big.
    ///
    /// - Parameters:
    ///   - completeTo: before this moment all that was heard has been told; what is told later and is earlier counts as late.
    ///   - now: by the same clock, not before that.
    ///   - wall: what the wall clock says at `now`.
    /// - Returns: them in their order, with the octets to be sent.
    package mutating func cut(completeTo: Instant, now: Instant, wall: Instant) -> [CutBatch] {
        let end = max(from, completeTo.wholeMicroseconds)
        // Stable, so that an adapter's changes stay as they came.
        var later: [Batch.Change] = []
        var due: [Batch.Change] = []
        for change in changes { if change.time < end { due.append(change) } else { later.append(change) } }
        let remaining = sightings.filter { $0.time >= end }
        let piece = BatchPiece(
            from: from, completeTo: end, listening: adapters.listening, reports: adapters.takeReports(before: end),
            changes: due.enumerated()
                .sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element)[...],
            sightings: sightings.filter { $0.time < end }.sorted()[...])
        var maker = BatchMaker(
            settings: settings, adapters: adapters.all, cut: max(now.wholeMicroseconds, end), wall: wall,
            isStart: isStart, nextSequence: nextSequence)
        do throws(BatchError) { try maker.make(piece) } catch {
            preconditionFailure("a batch of our own is none: \(error)")
        }
        nextSequence = maker.nextSequence
        adapters.apply(due, later: Set(later.map(\.adapter) + remaining.map(\.adapter)))
        (sightings, changes, from, isStart) = (remaining, later, end, false)
        return maker.made
    }
}

/// A batch, and its octets, which go into the log.
package struct CutBatch: Sendable, Hashable {
    /// What it tells, under a number of its own.
    package let batch: Batch
    /// As it is sent.
    package let octets: [UInt8]
}

extension Batch.Change {
    /// Words that may be a reason's: without control characters, and not too many.
    static func words(_ text: String) -> String {
        if isReason(text) { return text }
        var words = ""
        for scalar in text.unicodeScalars where scalar.properties.generalCategory != .control {
            guard words.utf8.count + UTF8.width(scalar) <= BatchBounds.reasonOctetsMax else { break }
            words.unicodeScalars.append(scalar)
        }
        return words
    }
}
