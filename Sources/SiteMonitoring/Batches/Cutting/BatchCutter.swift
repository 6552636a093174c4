package import BaseTypes
package import BluetoothLE

/// Collects the input of a gateway's adapters and cuts it into batches.
///
/// The cutter is a value: it has no clock and sends nothing. It must receive each report, sighting and change that the
/// gateway's own engine receives, with the same times. Input that is earlier than the end of the previous batch
/// (``Batch/Span/completeTo``) counts as received at the start of the next batch. An engine handles late input in the
/// same way (rule T2).
package struct BatchCutter: Sendable {
    /// The numbers of inputs that were changed or refused, since the cutter was created.
    package struct Counts: Sendable, Hashable {
        /// Inputs that were earlier than the end of the previous batch (``Batch/Span/completeTo``).
        package var late: UInt64 = 0
        /// Sightings and changes for which there was no room. Batches report that their adapters did not scan.
        package var dropped: UInt64 = 0
        /// How often an adapter was refused because its name is invalid or there are too many adapters.
        package var adaptersRefused: UInt64 = 0

        /// Creates counts of 0.
        package init() {}
    }

    /// The values that all batches have in common.
    package struct Settings: Sendable, Hashable {
        /// The site that receives the batches.
        package var site: LogName
        /// The gateway that sends the batches.
        package var gateway: LogName
        /// The boot ID of the gateway's machine.
        package var boot: UInt128
        /// The maximum size of a batch in bytes: `max_batch`. A batch that cannot be divided can be larger: about
        /// 36,000 bytes if a gateway has 255 adapters.
        package var bytesMax = LogLimits().batchBytesMax
        /// The maximum number of sightings and changes that wait for the next cut.
        package var pendingMax = 65_536

        /// Creates settings for a site, a gateway, and a boot of its machine.
        package init(site: LogName, gateway: LogName, boot: UInt128) {
            self.site = site
            self.gateway = gateway
            self.boot = boot
        }
    }

    /// The sequence number of the next batch.
    package private(set) var nextSequence: UInt64
    /// The counts of inputs that were changed or refused.
    package private(set) var counts = Counts()

    let settings: Settings
    private var adapters = CutAdapters()
    private var sightings: [Batch.Sighting] = []
    private var changes: [Batch.Change] = []
    private var from: Instant
    private var isStart = true

    /// Creates a cutter that has received nothing. Its first batch starts at `start` and gets the sequence number
    /// `nextSequence`.
    package init(_ settings: Settings, nextSequence: UInt64, start: Instant) {
        self.settings = settings
        self.nextSequence = nextSequence
        from = start.wholeMicroseconds
    }

    // MARK: Input

    /// Returns the index of the adapter with a name, and adds the adapter if it is new.
    ///
    /// - Parameters:
    ///   - name: the adapter's name in the gateway's lines. After an adapter was removed, one with the same name counts
    ///     as another adapter.
    ///   - address: the controller's address, if it has its own.
    /// - Returns: the index to pass with the adapter's input, or `nil` if there is no room for it, which is counted.
    package mutating func adapter(named name: String, address: DeviceAddress?) -> Int? {
        let place = adapters.place(of: name, address)
        if place == nil { counts.adaptersRefused += 1 }
        return place
    }

    /// Takes a report of any kind by an adapter.
    package mutating func received(by adapter: Int, at time: Instant) { _ = take(adapter, at: time) }

    /// Takes a report with an iBeacon by an adapter.
    package mutating func sighted(_ advertiser: Batch.Advertiser, rssi: RSSI?, by adapter: Int, at time: Instant) {
        guard hasRoom(for: adapter, at: time), let time = take(adapter, at: time) else { return }
        sightings.append(Batch.Sighting(at: time, adapter: adapter, advertiser, rssi: rssi))
    }

    /// Takes a change: an adapter started or stopped scanning, or was removed. A change without effect is left out.
    package mutating func changed(_ kind: Batch.Change.Kind, _ adapter: Int, at time: Instant, reason: String?) {
        guard adapters.isPlace(adapter), adapters[adapter].isChanged(by: kind), hasRoom(for: adapter, at: time) else {
            return
        }
        note(kind, adapter, at: admit(time), reason: reason)
    }

    /// Takes a report's time. If the adapter did not scan until now, adds the change that it scans.
    ///
    /// - Returns: the time of the report in the batch, or `nil` if there is no such adapter or it has no room until the
    ///   next cut.
    private mutating func take(_ adapter: Int, at time: Instant) -> Instant? {
        guard adapters.isPlace(adapter), !adapters[adapter].isOverfull else { return nil }
        if !adapters[adapter].listens { note(.started, adapter, at: admit(time), reason: nil) }
        let time = adapters[adapter].admit(admit(time))
        adapters[adapter].noteReport(at: time)
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
        } catch { preconditionFailure("a change that this gateway made is invalid: \(error)") }
    }

    /// Returns whether there is room for another sighting or change. If there is not, the adapter counts as stopped
    /// since its last accepted report, and no input of it is accepted until the next cut.
    private mutating func hasRoom(for adapter: Int, at time: Instant) -> Bool {
        guard sightings.count + changes.count >= settings.pendingMax else { return true }
        counts.dropped += 1
        guard adapters.isPlace(adapter), !adapters[adapter].isOverfull else { return false }
        if adapters[adapter].listens {
            let time = admit(time)
            note(
                .stopped(since: adapters[adapter].lastReceived ?? time), adapter, at: time,
                reason: "more was received than could be sent")
        }
        adapters[adapter].isOverfull = true
        return false
    }

    // MARK: Output

    /// Cuts the input before `completeTo` into one batch, even if there was no input, or into several if one would be
    /// too large.
    ///
    /// - Parameters:
    ///   - completeTo: the end of the period. All input before it must have been passed; earlier input that is passed
    ///     later counts as late.
    ///   - now: the time of the cut by the same clock, at or after `completeTo`.
    ///   - wall: the time of the wall clock at `now`.
    /// - Returns: the batches in their order, with the bytes to send.
    package mutating func cut(completeTo: Instant, now: Instant, wall: Instant) -> [CutBatch] {
        let end = max(from, completeTo.wholeMicroseconds)
        // The sort is stable, so that changes of one time keep the order in which they arrived.
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
            preconditionFailure("a batch that this gateway made is invalid: \(error)")
        }
        nextSequence = maker.nextSequence
        adapters.apply(due, later: Set(later.map(\.adapter) + remaining.map(\.adapter)))
        (sightings, changes, from, isStart) = (remaining, later, end, false)
        return maker.made
    }
}

/// A batch, with its bytes for the log.
package struct CutBatch: Sendable, Hashable {
    /// The batch, with its own sequence number.
    package let batch: Batch
    /// The encoded batch.
    package let bytes: [UInt8]
}

extension Batch.Change {
    /// Returns a text that is valid as a reason: without control characters, and shortened if it is too long.
    static func words(_ text: String) -> String {
        if isReason(text) { return text }
        var words = ""
        for scalar in text.unicodeScalars where scalar.properties.generalCategory != .control {
            guard words.utf8.count + UTF8.width(scalar) <= BatchBounds.reasonBytesMax else { break }
            words.unicodeScalars.append(scalar)
        }
        return words
    }
}
