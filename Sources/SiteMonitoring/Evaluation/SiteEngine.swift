internal import BaseTypes
package import BeaconMonitoring
internal import BluetoothLE
internal import EventLog
internal import JSON

/// Computes the event lines of a site from its log. They equal the lines of one gateway process that scans with all
/// adapters.
///
/// The engine is a value. The same log results in the same lines in every process, at any time, and for any size of the
/// pieces that are read.
package struct SiteEngine<Reader: SiteSetupReader>: Sendable {
    /// The site's name. Lines have it in place of a gateway's name.
    package let site: LogName
    /// The order in which the engine receives the sightings and changes of the gateways.
    package private(set) var order: SiteOrder
    /// The counts of the log's messages.
    package private(set) var counters = SiteEngineCounters()
    /// The reason why the last refused configuration is invalid.
    package private(set) var refusal: String?

    // `nil` until the log has a configuration and the watermark has a time.
    private var engine: MonitorEngine?
    private let reader: Reader
    private var encoder: LineEncoder
    private var setup: SiteSetup?
    private var actions = ActionBuffer()
    private var inputs: [SiteInput] = []
    // By adapter number: the ID that the engine uses, and whether the adapter scans.
    private var adapters: [(id: AdapterID?, isListening: Bool)] = []
    private var correctedStreams: Set<Stream> = []

    /// Creates an engine that has read nothing.
    ///
    /// - Throws: ``MonitorError`` if the site's name is invalid in lines.
    package init(site: LogName, _ reader: Reader, _ limits: OrderLimits = OrderLimits()) throws(MonitorError) {
        self.site = site
        self.reader = reader
        order = SiteOrder(limits)
        var options = LineEncoder.Options(gateway: try Identifier(site.description))
        options.envelope = false
        encoder = LineEncoder(options)
    }

    /// The number of the last line.
    package var lastLine: UInt64 { UInt64(encoder.sequence) }

    /// Takes the message at the log's next offset.
    ///
    /// - Parameters:
    ///   - entry: the message, and when the log accepted it.
    ///   - lines: the array to which the resulting lines are appended.
    package mutating func take(_ entry: LogEntry, into lines: inout [SiteLine]) {
        do throws(BatchFormatError) {
            switch try SiteMessage(bytes: entry.bytes) {
            case .batch(let batch) where batch.site == site:
                order.take(batch, stored: entry.stored, into: &inputs)
                handOn()
            case .batch: counters.foreign += 1
            case .configuration(let text): configure(text)
            }
        } catch {
            counters.unreadable += 1
        }
        write(into: &lines)
    }

    // MARK: Inputs

    private mutating func handOn() {
        if engine == nil, let setup, let first = inputs.first?.place.time ?? begun { begin(setup, at: first) }
        for input in inputs { hand(input) }
        inputs.removeAll(keepingCapacity: true)
        if let begun { engine?.advance(to: begun, into: &actions) }
    }

    /// The watermark; `nil` before it has advanced for the first time.
    private var begun: Instant? { order.watermark > .earliest ? order.watermark : nil }

    private mutating func hand(_ input: SiteInput) {
        let time = input.place.time
        switch input.content {
        case .received(by: let number):
            if let adapter = adapter(number, at: time) { engine?.received(by: adapter, at: time, into: &actions) }
        case .sighted(let advertiser, let rssi, let number):
            sight(advertiser, rssi, by: number, at: time)
        case .listens(let number, let reason):
            note(number, isListening: true)
            noteListening(.started, number, reason, at: time)
        case .stopped(let number, let since, let reason):
            note(number, isListening: false)
            noteListening(.stopped(since: since), number, reason, at: time)
            leave(number)
        case .removed(let number, let reason):
            note(number, isListening: false)
            noteListening(.removed, number, reason, at: time)
            leave(number)
        case .clock(let isCorrected):
            let stream = Stream(gateway: input.place.gateway, boot: input.place.boot)
            if isCorrected { correctedStreams.insert(stream) } else { correctedStreams.remove(stream) }
            // The change does not apply to events that are due at or before this time (rule T3), so they are handled
            // first.
            engine?.advance(to: time, into: &actions)
            flagClocks()
        }
    }

    private mutating func sight(
        _ advertiser: Batch.Advertiser, _ rssi: RSSI?, by number: SiteAdapterNumber, at time: Instant
    ) {
        guard engine != nil else {
            counters.unmonitored += 1
            return
        }
        guard let adapter = adapter(number, at: time) else {
            counters.unplaced += 1
            return
        }
        let sighting = Sighting(
            time: time, adapter: adapter, beacon: advertiser.beacon, measuredPower: advertiser.measuredPower,
            rssi: rssi, address: advertiser.address)
        engine?.sighted(sighting, into: &actions)
    }

    private mutating func flagClocks() {
        engine?.ambientDiagnostics = correctedStreams.isEmpty ? [] : .clockUnsynchronized
    }

    // MARK: Adapters

    private mutating func note(_ number: SiteAdapterNumber, isListening: Bool) {
        while adapters.count <= Int(number.offset) { adapters.append((nil, false)) }
        adapters[Int(number.offset)].isListening = isListening
    }

    /// Returns the engine's ID of an adapter, and adds the adapter if it is new. Returns `nil` if there are more
    /// adapters than the engine can distinguish.
    private mutating func adapter(_ number: SiteAdapterNumber, at time: Instant) -> AdapterID? {
        let place = Int(number.offset)
        while adapters.count <= place { adapters.append((nil, false)) }
        if let id = adapters[place].id { return id }
        let known = order.adapters[place]
        let id = try? engine?.adapter(named: known.name, address: known.address, at: time, into: &actions)
        adapters[place].id = id
        return id
    }

    private mutating func noteListening(
        _ kind: ListeningChange.Kind, _ number: SiteAdapterNumber, _ reason: String?, at time: Instant
    ) {
        guard engine != nil, let adapter = adapter(number, at: time) else { return }
        engine?.listening(ListeningChange(kind, adapter: adapter, reason: reason), at: time, into: &actions)
    }

    /// Frees the name of an adapter. The next adapter with this name can be another one (rule L7).
    private mutating func leave(_ number: SiteAdapterNumber) {
        engine?.adapterLeft(named: order.adapters[Int(number.offset)].name)
        for place in adapters.indices where order.adapters[place].name == order.adapters[Int(number.offset)].name {
            adapters[place].id = nil
        }
    }

    // MARK: Configuration

    private mutating func configure(_ text: [UInt8]) {
        let before = actions
        do {
            let new = try reader.setup(text)
            guard let former = setup else {
                // A trial engine checks the configuration, so that an invalid one is refused now and not at the first
                // watermark.
                var trial = MonitorEngine(settings: new.settings, start: .earliest)
                try trial.begin(new.monitors, naming: new.named, from: nil, at: .earliest, into: &actions)
                actions = before
                setup = new
                return
            }
            try change(from: former, to: new)
            setup = new
        } catch {
            actions = before
            counters.refusedConfigurations += 1
            refusal = "\(error)"
        }
    }

    private mutating func change(from former: SiteSetup, to new: SiteSetup) throws {
        guard var running = engine else { return }
        let now = max(order.watermark, running.now)
        guard new.needsNewEngine(after: former) else {
            try running.apply(new.monitors, naming: new.named, at: now, into: &actions)
            engine = running
            return
        }
        running.advance(to: now, into: &actions)
        try begin(new, from: running.snapshot, at: now)
    }

    private mutating func begin(_ setup: SiteSetup, at time: Instant) {
        do throws(MonitorError) {
            try begin(setup, from: nil, at: time)
        } catch {
            // This is not expected, because the configuration was checked when it was read.
            counters.refusedConfigurations += 1
            refusal = "\(error)"
        }
    }

    /// Starts a new engine with the snapshot of the previous one (rule N4).
    private mutating func begin(
        _ setup: SiteSetup, from snapshot: MonitorSnapshot?, at time: Instant
    ) throws(MonitorError) {
        var new = MonitorEngine(settings: setup.settings, start: time)
        try new.begin(setup.monitors, naming: setup.named, from: snapshot, at: time, into: &actions)
        engine = new
        flagClocks()
        for place in adapters.indices {
            adapters[place].id = nil
            let number = SiteAdapterNumber(offset: Int32(place))
            if adapters[place].isListening { noteListening(.started, number, "monitoring starts", at: time) }
        }
    }

    // MARK: Lines

    private mutating func write(into lines: inout [SiteLine]) {
        guard !actions.isEmpty else { return }
        var buffer = LineBuffer(capacity: 4_096)
        for action in actions.actions {
            encoder.encode(action, into: &buffer)
            guard buffer.count > 0 else { continue }
            lines.append(SiteLine(number: lastLine, bytes: buffer.bytes))
            buffer.removeAll()
        }
        actions.removeAll()
    }

    /// One boot of one gateway.
    private struct Stream: Sendable, Hashable {
        let gateway: LogName
        let boot: UInt128
    }
}
