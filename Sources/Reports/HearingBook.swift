import BeaconMonitoring
import EventLog

/// When a gateway heard, told from what it says of its adapters and of itself.
///
/// It is deaf where none of its adapters listens: each is silent or was taken out, or, behind the line that says that it was
/// started, none has listened yet. A run of which no line tells of an adapter, as of versions before, is taken to hear.
/// What tells where the gateway is (`gpsd`, `gpx`: docs/location.md) is an adapter in its lines and hears no beacon: it
/// counts only where all conditions are circles.
struct HearingBook: Sendable {
    /// What an adapter was last said to do.
    struct AdapterState: Hashable {
        var state: AdapterChange.State
        var since: WallDate
        var reason: String?
    }

    /// A stretch in which an adapter, or the gateway as a whole, heard nothing.
    struct Silence: Hashable {
        /// The gateway that heard nothing, or one of whose adapters did.
        var gateway: String
        /// Which adapter; absent where the gateway was not running, or none of its adapters was there.
        var adapter: String?
        var from: WallDate
        /// When it ended; absent where it goes on.
        var to: WallDate?
        /// Absent where the gateway was not running.
        var reason: String?
        /// Whether nothing says when it began: the gateway was started anew, and ended some time between the two.
        var isVague = false
    }

    /// A stretch in which the gateway was running, and none of its adapters listened.
    struct Deafness: Hashable {
        var from: WallDate
        /// When it ended; absent where it goes on.
        var to: WallDate?
    }

    // A year has some thousand outages; what flaps more often is a mistake that other lines tell.
    static let silencesMax = 20_000
    private static let notYet = "no adapter has scanned yet"
    // Shorter ones are a part of each start, and are not listed; they count for what they are.
    private static let startMax: Int64 = 60_000_000

    private let gateway: String
    private(set) var silences: [Silence] = []
    /// How many silences came when there were ``silencesMax`` already.
    private(set) var silencesLeftOut = 0
    /// When the gateway was deaf, in order and apart.
    private(set) var deafness: [Deafness] = []
    /// What the adapters of the present run do, those that were taken out not among them.
    private(set) var adapters: [String: AdapterState] = [:]
    private var silent: [String: Silence] = [:]
    /// That no adapter is there, as long as that is so.
    private var withoutAdapter: Silence?
    /// When an adapter of the present run was taken out for the last time.
    private var takenOut: WallDate?
    /// Whether an adapter listens of which no line of the present run tells: retention has deleted it.
    private var hasUntold = false
    /// Whether a line of the gateway tells of beacons.
    private(set) var hearsBeacons = false
    /// Whether the present run says that it was started, or what an adapter does.
    private var isTold = false

    /// Of a gateway that has told nothing yet.
    init(of gateway: String) { self.gateway = gateway }

    /// Since when the gateway has been deaf; absent where it hears.
    var deafSince: WallDate? { deafness.last.flatMap { $0.to == nil ? $0.from : nil } }

    /// The first line of another run has come: what the adapters of the one before did is over.
    mutating func begin(at date: WallDate) {
        adapters = [:]
        hasUntold = false
        isTold = false
        takenOut = nil
        endDeafness(at: date)
    }

    private var isHearing: Bool { hasUntold || ears.values.contains { $0.state == .listening } }

    private var ears: [String: AdapterState] { hearsBeacons ? adapters.filter { !Self.tellsPlace($0.key) } : adapters }

    private static func tellsPlace(_ adapter: String) -> Bool {
        ["gpsd", "gpx"].contains(adapter) || ["/gpsd", "/gpx"].contains { adapter.hasSuffix($0) }
    }

    /// The gateway was started: it does not hear before an adapter listens.
    mutating func start(at date: WallDate) {
        isTold = true
        beginUnlessHearing(at: date)
    }

    /// A line tells of beacons, at that date; `isHeard`: that one was heard.
    mutating func note(beaconsAt date: WallDate, isHeard: Bool) {
        guard !hearsBeacons else { return }
        hearsBeacons = true
        guard isTold, !isHearing else { return }
        if isHeard { hasUntold = true } else { beginUnlessHearing(at: date) }
    }

    private mutating func beginUnlessHearing(at date: WallDate) {
        guard !isHearing else { return }
        beginDeafness(at: date)
        if ears.isEmpty { beginWithoutAdapter(at: date, reason: Self.notYet) }
    }

    /// Takes in that somebody was heard: where no adapter is known to listen, another one does.
    mutating func note(heardAt date: WallDate) {
        guard let since = deafSince, date > since else { return }
        hasUntold = true
        endDeafness(at: date)
    }

    /// Takes in what an adapter does.
    mutating func note(_ change: AdapterChange, _ line: LogLine) {
        let since = line.date(of: change.since)
        isTold = true
        // It may be the one of which nothing was told.
        if adapters[change.adapter] == nil { hasUntold = false }
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
        if isHearing { return endDeafness(at: line.date) }
        if ears.isEmpty {
            let reason = change.reason.map { " (\($0))" } ?? ""
            let takenOut = "no adapter remains because \(change.adapter) was removed\(reason)"
            beginWithoutAdapter(at: since, reason: change.state == .gone ? takenOut : Self.notYet)
        }
        // Each listened until it stopped, also where that is told only now.
        let stops = ears.values.map(\.since) + [takenOut].compactMap(\.self)
        beginDeafness(at: stops.max() ?? since)
    }

    /// The gateway was not running; or, where that is vague, was started anew.
    mutating func note(notRunning silence: Silence) { note(silence) }

    /// No line comes any more: what goes on has no end.
    mutating func finish() {
        for (_, silence) in silent.sorted(by: { $0.key < $1.key }) { note(silence) }
        if let withoutAdapter { note(withoutAdapter) }
        silent = [:]
        withoutAdapter = nil
    }

    private mutating func beginWithoutAdapter(at date: WallDate, reason: String) {
        if withoutAdapter == nil { withoutAdapter = Silence(gateway: gateway, from: date, reason: reason) }
    }

    private mutating func beginDeafness(at date: WallDate) {
        guard deafSince == nil else { return }
        guard deafness.count < Self.silencesMax else {
            // Rather unknown for too long than known for what it was not.
            deafness[deafness.count - 1].to = nil
            return
        }
        deafness.append(Deafness(from: max(date, deafness.last?.to ?? date), to: nil))
    }

    private mutating func endDeafness(at date: WallDate) {
        if deafSince != nil { deafness[deafness.count - 1].to = date }
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

extension HearingBook: Kept {
    static var blank: HearingBook { HearingBook(of: "") }

    mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
        var name = gateway
        try octets.pass(&name)
        if name != gateway { self = HearingBook(of: name) }
        try octets.pass(&silences)
        try octets.pass(&silencesLeftOut)
        try octets.pass(&deafness)
        try octets.pass(&adapters)
        try octets.pass(&silent)
        try octets.pass(&withoutAdapter)
        try octets.pass(&takenOut)
        try octets.pass(&hasUntold)
        try octets.pass(&hearsBeacons)
        try octets.pass(&isTold)
    }
}

extension HearingBook.AdapterState: Kept {
    static var blank: HearingBook.AdapterState { HearingBook.AdapterState(state: .gone, since: .blank) }

    mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
        try octets.pass(&state)
        try octets.pass(&since)
        try octets.pass(&reason)
    }
}

extension HearingBook.Silence: Kept {
    static var blank: HearingBook.Silence { HearingBook.Silence(gateway: "", from: .blank) }

    mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
        try octets.pass(&gateway)
        try octets.pass(&adapter)
        try octets.pass(&from)
        try octets.pass(&to)
        try octets.pass(&reason)
        try octets.pass(&isVague)
    }
}

extension HearingBook.Deafness: Kept {
    static var blank: HearingBook.Deafness { HearingBook.Deafness(from: .blank) }

    mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
        try octets.pass(&from)
        try octets.pass(&to)
    }
}
