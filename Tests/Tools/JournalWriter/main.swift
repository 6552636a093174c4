import BaseTypes
// A gateway without a radio, for tests that kill it and for measuring the cost of durability.
//
//     journal-writer FOLDER SEED START
//
// Simulates beacons that enter and exit, as fast as the disk allows. SEED determines their sightings, and START is the
// first time of the timeline, in seconds. At the end of each turn, prints the number of the last durable line on
// standard output. Runs until it is killed.
//
//     journal-writer FOLDER bench event|1s|plain SECONDS
//
// Writes events for SECONDS seconds, one per turn, with the durability `event` or `1s`. With `plain`, lines are
// written, but synchronized only once per hour or per MiB of lines. Prints the numbers of events, of events per second
// and of fsyncs, as JSON.
import BeaconMonitoring
import BluetoothLE
import EventLog
import SystemPackage

struct Usage: Error {}

struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// The engine, recorder and journal of a gateway.
struct Writer {
    let journal: Journal
    var engine: MonitorEngine
    var recorder = EvidenceRecorder()
    var actions = ActionBuffer()
    var random: Generator
    var now: Instant
    let adapter: AdapterID
    let uuid = ProximityUUID(high: 1, low: 2)

    init(_ folder: String, seed: UInt64, now: Instant, _ change: (inout JournalOptions) -> Void) throws {
        var options = JournalOptions(
            directory: FilePath(folder).appending("events"), stateDirectory: FilePath(folder).appending("state"),
            gateway: try Identifier("g"))
        change(&options)
        journal = try Journal(
            options, boot: BootID(machine: "aaaaaaaa", process: UInt32(truncatingIfNeeded: seed)), now: now,
            clockOffset: .zero, isClockSynchronized: true)
        self.now = now
        random = Generator(state: seed)
        var settings = ConditionSettings()
        settings.perBeacon = true
        settings.exitTimeout = .seconds(5)
        let setup = MonitorSetup(
            name: try Identifier("site"),
            conditions: [
                MonitorSetup.Condition(
                    identifier: try Identifier("staff"),
                    condition: .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid)),
                    settings: settings)
            ])
        engine = MonitorEngine(start: now)
        try engine.begin([setup], from: journal.recovery.snapshot, at: now, into: &actions)
        adapter = try engine.adapter(named: "hci0", at: now, into: &actions)
        engine.listening(ListeningChange(.started, adapter: adapter), at: now, into: &actions)
    }

    /// Does the work of a gateway's loop at the end of a turn: appends the actions, commits the lines, stores a
    /// snapshot if one is due, and does everything else that is due.
    mutating func endTurn() {
        journal.append(actions, evidence: &recorder)
        actions.removeAll()
        journal.commit(at: now)
        if journal.wantsSnapshot { journal.keep(engine.snapshot, at: now) }
        journal.advance(to: now)
    }

    mutating func sight(after pause: Duration, beacons: UInt64) {
        now = now + pause
        engine.advance(to: now, into: &actions)
        let beacon = BeaconIdentity(uuid: uuid, major: 1, minor: UInt16(random.next() % beacons))
        recorder.sighted(beacon, by: adapter, rssi: RSSI(dBm: -60), at: now)
        engine.sighted(
            Sighting(time: now, adapter: adapter, beacon: beacon, measuredPower: -59, rssi: RSSI(dBm: -60)),
            into: &actions)
    }
}

func runUntilKilled(_ folder: String, seed: UInt64, start: Int) throws {
    var writer = try Writer(folder, seed: seed, now: Instant(nanoseconds: Int64(start) * 1_000_000_000)) {
        $0.rotateSize = 20_000
        $0.snapshotInterval = .seconds(40)
    }
    while true {
        writer.endTurn()
        _ = try FileDescriptor.standardOutput.writeAll("\(writer.journal.durableSequence)\n".utf8)
        writer.sight(after: .milliseconds(Int(writer.random.next() % 1500)), beacons: 8)
    }
}

func measure(_ folder: String, _ durability: String, seconds: Int) throws {
    let clock = ContinuousClock()
    let begin = clock.now
    let start = Instant(nanoseconds: 1_000_000_000_000)
    var writer = try Writer(folder, seed: 1, now: start) {
        $0.durability = durability == "event" ? .event : .every(durability == "1s" ? .seconds(1) : .seconds(3600))
        $0.snapshotInterval = .seconds(3600)
    }
    writer.endTurn()
    let first = writer.journal.sequence
    var event = BeaconMonitor.Event.made(at: start)
    while clock.now - begin < .seconds(seconds) {
        writer.now = start + (clock.now - begin)
        event.time = writer.now
        writer.actions.removeAll()
        writer.journal.append(.event(event))
        writer.journal.commit(at: writer.now)
    }
    let elapsed = clock.now - begin
    let count = writer.journal.sequence - first
    let rate = Double(count) / (Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) * 1e-18)
    print(
        #"{"durability":"\#(durability)","events":\#(count),"eventsPerSecond":\#(Int(rate)),"#
            + #""fsyncs":\#(writer.journal.counters.synchronizations)}"#)
}

extension BeaconMonitor.Event {
    static func made(at time: Instant) -> BeaconMonitor.Event {
        let uuid = ProximityUUID(high: 1, low: 2)
        return BeaconMonitor.Event(
            monitor: "site", identifier: "staff", scope: .condition, state: .satisfied, time: time, clockOffset: .zero,
            condition: .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid)),
            refinement: BeaconIdentity(uuid: uuid, major: 1, minor: 1), previous: nil, sighting: nil, lastSeen: time,
            diagnostics: [])
    }
}

let arguments = CommandLine.arguments
if arguments.count == 5, arguments[2] == "bench", let seconds = Int(arguments[4]) {
    try measure(arguments[1], arguments[3], seconds: seconds)
} else if arguments.count == 4, let seed = UInt64(arguments[2]), let start = Int(arguments[3]) {
    try runUntilKilled(arguments[1], seed: seed, start: start)
} else {
    throw Usage()
}
