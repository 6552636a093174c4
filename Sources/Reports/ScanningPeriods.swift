import BeaconMonitoring
import EventLog

/// The periods in which a gateway scanned, from its lines about its adapters and about itself.
///
/// The gateway does not scan if none of its adapters does: each is `deaf` or `off` or was removed, or none has scanned
/// yet after the line that reports the start. A run without a line about its start or about an adapter is assumed to
/// scan, because earlier versions did not write such lines.
///
/// A location source (`gpsd`, `gpx`: docs/location.md) is an adapter in lines, but does not receive beacons. It counts
/// only if all conditions are circles.
struct ScanningPeriods: Sendable {
    /// The last reported state of an adapter.
    struct AdapterState: Hashable {
        var state: AdapterChange.State
        var since: WallDate
        var reason: String?
    }

    /// A period in which an adapter, or the complete gateway, did not scan.
    struct Silence: Hashable {
        /// The gateway that did not scan, or whose adapter did not.
        var gateway: String
        /// The adapter; `nil` if the gateway was not running, had no adapter, or if no adapter had scanned yet.
        var adapter: String?
        var from: WallDate
        /// The end of the period; `nil` if it continues.
        var to: WallDate?
        /// The reason; `nil` if the gateway was not running.
        var reason: String?
        /// Whether the start of the period is not known: the gateway was started again, and its previous run ended at
        /// some time within the period.
        var isVague = false
    }

    /// A period in which the gateway was running, and none of its adapters scanned.
    struct ScanningGap: Hashable {
        var from: WallDate
        /// The end of the period; `nil` if it continues.
        var to: WallDate?
    }

    // A year has a few thousand outages. An adapter that changes more often has a defect, which other lines report.
    static let silencesMax = 20_000
    private static let notYet = "no adapter has scanned yet"
    // In microseconds. Shorter periods until the first adapter scans are a part of each start. They are not listed, but
    // they count as time without scanning.
    private static let startMax: Int64 = 60_000_000

    private let gateway: String
    private(set) var silences: [Silence] = []
    /// The number of periods that were omitted because there were ``silencesMax`` already.
    private(set) var silencesLeftOut = 0
    /// The periods in which the gateway was running and did not scan, in order and without overlap.
    private(set) var scanningGaps: [ScanningGap] = []
    /// The states of the adapters of the present run, without those that were removed.
    private(set) var adapters: [String: AdapterState] = [:]
    private var silent: [String: Silence] = [:]
    /// The present period that started without any adapter. It lasts until an adapter scans, or until the run ends;
    /// `nil` if there is none.
    private var withoutAdapter: Silence?
    /// The latest time at which an adapter of the present run was removed.
    private var takenOut: WallDate?
    /// Whether an adapter scans that has no line in the present run, because retention has deleted its line.
    private var hasUnrecordedAdapter = false
    /// Whether the gateway has a line about beacons. If it has, location sources do not count.
    private(set) var receivesBeacons = false
    /// Whether the present run has a line about its start, or about an adapter.
    private var isRunKnown = false

    /// Creates a value for a gateway that has no lines yet.
    init(of gateway: String) { self.gateway = gateway }

    /// The time since which the gateway has not scanned; `nil` if it scans.
    var deafSince: WallDate? { scanningGaps.last.flatMap { $0.to == nil ? $0.from : nil } }

    /// Called at the first line of another run: the adapters of the previous run do not count any more.
    mutating func begin(at date: WallDate) {
        adapters = [:]
        hasUnrecordedAdapter = false
        isRunKnown = false
        takenOut = nil
        endScanningGap(at: date)
    }

    private var isScanning: Bool { hasUnrecordedAdapter || countedAdapters.values.contains { $0.state == .listening } }

    private var countedAdapters: [String: AdapterState] {
        receivesBeacons ? adapters.filter { !Self.isLocationSource($0.key) } : adapters
    }

    private static func isLocationSource(_ adapter: String) -> Bool {
        ["gpsd", "gpx"].contains(adapter) || ["/gpsd", "/gpx"].contains { adapter.hasSuffix($0) }
    }

    /// Called when the gateway was started: it does not scan until an adapter does.
    mutating func start(at date: WallDate) {
        isRunKnown = true
        startScanningGapUnlessScanning(at: date)
    }

    /// Adds a line about beacons, written at `date`. `areReceived` is whether it reports that a beacon was received.
    /// From this line on, location sources do not count.
    mutating func note(beaconsAt date: WallDate, areReceived: Bool) {
        guard !receivesBeacons else { return }
        receivesBeacons = true
        guard isRunKnown, !isScanning else { return }
        if areReceived { hasUnrecordedAdapter = true } else { startScanningGapUnlessScanning(at: date) }
    }

    private mutating func startScanningGapUnlessScanning(at date: WallDate) {
        guard !isScanning else { return }
        startScanningGap(at: date)
        if countedAdapters.isEmpty { beginWithoutAdapter(at: date, reason: Self.notYet) }
    }

    /// Adds the date of a sighting. If it is after the time since which no adapter was known to scan, it shows that an
    /// adapter without a line scans.
    mutating func note(receivedAt date: WallDate) {
        guard let since = deafSince, date > since else { return }
        hasUnrecordedAdapter = true
        endScanningGap(at: date)
    }

    /// Adds a line about the state of an adapter.
    mutating func note(_ change: AdapterChange, _ line: LogLine) {
        let since = line.date(of: change.since)
        isRunKnown = true
        // This can be the adapter that had no line until now.
        if adapters[change.adapter] == nil { hasUnrecordedAdapter = false }
        if var silence = silent.removeValue(forKey: change.adapter) {
            silence.to = line.date
            note(silence)
        }
        switch change.state {
        case .listening:
            adapters[change.adapter] = AdapterState(state: .listening, since: since, reason: change.reason)
        case .deaf, .off:
            adapters[change.adapter] = AdapterState(state: change.state, since: since, reason: change.reason)
            silent[change.adapter] = Silence(
                gateway: gateway, adapter: change.adapter, from: since, to: nil,
                reason: change.reason ?? (change.state == .deaf ? "deaf" : "off"))
        case .gone:
            adapters[change.adapter] = nil
            takenOut = max(takenOut ?? since, since)
        }
        if isScanning { return endScanningGap(at: line.date) }
        if countedAdapters.isEmpty {
            let reason = change.reason.map { " (\($0))" } ?? ""
            let takenOut = "no adapter remains because \(change.adapter) was removed\(reason)"
            beginWithoutAdapter(at: since, reason: change.state == .gone ? takenOut : Self.notYet)
        }
        // Each adapter scanned until it stopped, even if its stop is only reported now.
        let stops = countedAdapters.values.map(\.since) + [takenOut].compactMap(\.self)
        startScanningGap(at: stops.max() ?? since)
    }

    /// Adds a period between two runs, in which the gateway was not running. If it is vague, the time at which the
    /// first run ended is not known.
    mutating func note(notRunning silence: Silence) { note(silence) }

    /// Called after the last line: periods that continue have no end.
    mutating func finish() {
        for (_, silence) in silent.sorted(by: { $0.key < $1.key }) { note(silence) }
        if let withoutAdapter { note(withoutAdapter) }
        silent = [:]
        withoutAdapter = nil
    }

    private mutating func beginWithoutAdapter(at date: WallDate, reason: String) {
        if withoutAdapter == nil { withoutAdapter = Silence(gateway: gateway, from: date, reason: reason) }
    }

    private mutating func startScanningGap(at date: WallDate) {
        guard deafSince == nil else { return }
        guard scanningGaps.count < Self.silencesMax else {
            // It is better to treat too much time as unknown than to make a false statement about it.
            scanningGaps[scanningGaps.count - 1].to = nil
            return
        }
        scanningGaps.append(ScanningGap(from: max(date, scanningGaps.last?.to ?? date), to: nil))
    }

    private mutating func endScanningGap(at date: WallDate) {
        if deafSince != nil { scanningGaps[scanningGaps.count - 1].to = date }
        if var silence = withoutAdapter {
            silence.to = date
            let isStart = silence.reason == Self.notYet
            if !isStart || date.microseconds - silence.from.microseconds >= Self.startMax { note(silence) }
        }
        withoutAdapter = nil
    }

    private mutating func note(_ silence: Silence) {
        if silences.count < Self.silencesMax { silences.append(silence) } else { silencesLeftOut += 1 }
    }
}

extension ScanningPeriods: ByteCoded {
    static var blank: ScanningPeriods { ScanningPeriods(of: "") }

    mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        var name = gateway
        try coder.code(&name)
        if name != gateway { self = ScanningPeriods(of: name) }
        try coder.code(&silences)
        try coder.code(&silencesLeftOut)
        try coder.code(&scanningGaps)
        try coder.code(&adapters)
        try coder.code(&silent)
        try coder.code(&withoutAdapter)
        try coder.code(&takenOut)
        try coder.code(&hasUnrecordedAdapter)
        try coder.code(&receivesBeacons)
        try coder.code(&isRunKnown)
    }
}

extension ScanningPeriods.AdapterState: ByteCoded {
    static var blank: ScanningPeriods.AdapterState { ScanningPeriods.AdapterState(state: .gone, since: .blank) }

    mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        try coder.code(&state)
        try coder.code(&since)
        try coder.code(&reason)
    }
}

extension ScanningPeriods.Silence: ByteCoded {
    static var blank: ScanningPeriods.Silence { ScanningPeriods.Silence(gateway: "", from: .blank) }

    mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        try coder.code(&gateway)
        try coder.code(&adapter)
        try coder.code(&from)
        try coder.code(&to)
        try coder.code(&reason)
        try coder.code(&isVague)
    }
}

extension ScanningPeriods.ScanningGap: ByteCoded {
    static var blank: ScanningPeriods.ScanningGap { ScanningPeriods.ScanningGap(from: .blank) }

    mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        try coder.code(&from)
        try coder.code(&to)
    }
}
