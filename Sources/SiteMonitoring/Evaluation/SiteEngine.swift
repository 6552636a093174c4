internal import BaseTypes
package import BeaconMonitoring
internal import BluetoothLE
internal import EventLog
internal import JSON

/// What a site's log comes to: the lines that one gateway process would write that heard by all adapters itself.
///
/// A value: the same log gives the same lines, whoever reads it, whenever, in whatever pieces.
package struct SiteEngine<Reader: SiteSetupReader>: Sendable {
    /// The site's name, which its lines have in place of a gateway's.
    package let site: LogName
    /// In which order the engine is told of what was heard.
    package private(set) var order: SiteOrder
    /// What became of the log's messages.
    package private(set) var counters = SiteEngineCounters()
    /// Why the last configuration that was refused was.
    package private(set) var refusal: String?

    // Absent until the log has said what is to be monitored, and time has begun.
    private var engine: MonitorEngine?
    private let reader: Reader
    private var encoder: LineEncoder
    private var setup: SiteSetup?
    private var actions = ActionBuffer()
    private var inputs: [SiteInput] = []
    // At the adapters' numbers: what the engine calls them, and whether they listen.
    private var adapters: [(id: AdapterID?, isListening: Bool)] = []
    private var correctedStreams: Set<Stream> = []

    /// One that has read nothing yet.
    ///
    /// - Throws: ``MonitorError`` where the site's name can be none in a line.
    package init(site: LogName, _ reader: Reader, _ limits: OrderLimits = OrderLimits()) throws(MonitorError) {
        self.site = site
        self.reader = reader
        order = SiteOrder(limits)
        var options = LineEncoder.Options(gateway: try Identifier(site.description))
        options.envelope = false
        encoder = LineEncoder(options)
    }

    /// The number of the last line that there was.
    package var lastLine: UInt64 { UInt64(encoder.sequence) }

    /// Takes what stands at the log's next offset.
    ///
    /// - Parameters:
    ///   - entry: the octets, and when the log took them.
    ///   - lines: where the lines are added that follow.
    package mutating func take(_ entry: LogEntry, into lines: inout [SiteLine]) {
        do throws(BatchFormatError) {
            switch try SiteMessage(octets: entry.octets) {
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

    // MARK: What is heard

    private mutating func handOn() {
        if engine == nil, let setup, let first = inputs.first?.place.time ?? begun { begin(setup, at: first) }
        for input in inputs { hand(input) }
        inputs.removeAll(keepingCapacity: true)
        if let begun { engine?.advance(to: begun, into: &actions) }
    }

    /// The watermark, once there is one.
    private var begun: Instant? { order.watermark > .earliest ? order.watermark : nil }

    private mutating func hand(_ input: SiteInput) {
        let time = input.place.time
        switch input.what {
        case .heard(let number):
            if let adapter = adapter(number, at: time) { engine?.heard(adapter, at: time, into: &actions) }
        case .sighted(let advertiser, let rssi, let number):
            sight(advertiser, rssi, by: number, at: time)
        case .listens(let number, let reason):
            note(number, isListening: true)
            tell(.started, number, reason, at: time)
        case .stopped(let number, let since, let reason):
            note(number, isListening: false)
            tell(.stopped(since: since), number, reason, at: time)
            leave(number)
        case .removed(let number, let reason):
            note(number, isListening: false)
            tell(.removed, number, reason, at: time)
            leave(number)
        case .clock(let isCorrected):
            let stream = Stream(gateway: input.place.gateway, boot: input.place.boot)
            if isCorrected { correctedStreams.insert(stream) } else { correctedStreams.remove(stream) }
            // What is due before this is not concerned.
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

    /// What the engine calls an adapter, made known to it where it is new; absent past the most that it tells apart.
    private mutating func adapter(_ number: SiteAdapterNumber, at time: Instant) -> AdapterID? {
        let place = Int(number.offset)
        while adapters.count <= place { adapters.append((nil, false)) }
        if let id = adapters[place].id { return id }
        let known = order.adapters[place]
        let id = try? engine?.adapter(named: known.name, address: known.address, at: time, into: &actions)
        adapters[place].id = id
        return id
    }

    private mutating func tell(
        _ kind: ListeningChange.Kind, _ number: SiteAdapterNumber, _ reason: String?, at time: Instant
    ) {
        guard engine != nil, let adapter = adapter(number, at: time) else { return }
        engine?.listening(ListeningChange(kind, adapter: adapter, reason: reason), at: time, into: &actions)
    }

    /// Whoever comes under an adapter's name next may be another (rule L7).
    private mutating func leave(_ number: SiteAdapterNumber) {
        engine?.adapterLeft(named: order.adapters[Int(number.offset)].name)
        for place in adapters.indices where order.adapters[place].name == order.adapters[Int(number.offset)].name {
            adapters[place].id = nil
        }
    }

    // MARK: What is monitored

    private mutating func configure(_ text: [UInt8]) {
        let before = actions
        do {
            let new = try reader.setup(text)
            guard let former = setup else {
                // Read once, so that what can't be is refused here, and not when time begins.
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
            // It was tried when it was read.
            counters.refusedConfigurations += 1
            refusal = "\(error)"
        }
    }

    /// Begins with a new engine, by what one before it knew (rule N4).
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
            if adapters[place].isListening { tell(.started, number, "what is monitored begins", at: time) }
        }
    }

    // MARK: Lines

    private mutating func write(into lines: inout [SiteLine]) {
        guard !actions.isEmpty else { return }
        var buffer = LineBuffer(capacity: 4_096)
        for action in actions.actions {
            encoder.encode(action, into: &buffer)
            guard buffer.count > 0 else { continue }
            lines.append(SiteLine(number: lastLine, octets: buffer.bytes))
            buffer.removeAll()
        }
        actions.removeAll()
    }

    /// One start of one gateway.
    private struct Stream: Sendable, Hashable {
        let gateway: LogName
        let boot: UInt128
    }
}
