// A gateway without a radio, to be killed: beacons come and go as a seed has it, as fast as the disk allows, and each
// line that is durable is told on standard output by its number.
//
//     journal-writer FOLDER SEED START
//
// START is where the timeline stands, in seconds. It runs until it is killed.
import BeaconMonitoring
import BluetoothLE
import EventLog
import SystemPackage

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

struct Usage: Error {}

let arguments = CommandLine.arguments
guard arguments.count == 4, let seed = UInt64(arguments[2]), let start = Int(arguments[3]) else {
    throw Usage()
}
var random = Generator(state: seed)
var now = Instant(nanoseconds: Int64(start) * 1_000_000_000)
var options = JournalOptions(
    directory: FilePath(arguments[1]).appending("events"), stateDirectory: FilePath(arguments[1]).appending("state"),
    gateway: try Identifier("g"))
options.rotateSize = 20_000
options.snapshotInterval = .seconds(40)
let journal = try Journal(
    options, boot: BootID(machine: "aaaaaaaa", process: UInt32(truncatingIfNeeded: seed)), now: now, clockOffset: .zero,
    isClockSynchronized: true)
let uuid = ProximityUUID(high: 1, low: 2)
var settings = ConditionSettings()
settings.perBeacon = true
settings.exitTimeout = .seconds(5)
let setup = MonitorSetup(
    name: try Identifier("site"),
    conditions: [
        MonitorSetup.Condition(
            identifier: try Identifier("staff"), condition: .beacon(BeaconIdentityCondition(uuid: uuid)),
            settings: settings)
    ])
var engine = MonitorEngine(start: now)
var actions = ActionBuffer()
var recorder = EvidenceRecorder()
try engine.begin([setup], from: journal.recovery.snapshot, at: now, into: &actions)
let adapter = try engine.adapter(named: "hci0")
for known in engine.knownAdapters {
    journal.name(known, engine.name(of: known))
    recorder.name(known, engine.name(of: known))
}
engine.listening(ListeningChange(.started, adapter: adapter), at: now, into: &actions)
while true {
    journal.append(actions, evidence: &recorder)
    actions.removeAll()
    journal.commit(at: now)
    if journal.wantsSnapshot { journal.keep(engine.snapshot, at: now) }
    journal.advance(to: now)
    _ = try FileDescriptor.standardOutput.writeAll("\(journal.durableSequence)\n".utf8)
    now = now + .milliseconds(Int(random.next() % 1500))
    engine.advance(to: now, into: &actions)
    let beacon = BeaconIdentity(uuid: uuid, major: 1, minor: UInt16(random.next() % 8))
    recorder.sighted(beacon, by: adapter, rssi: RSSI(dBm: -60), at: now)
    engine.sighted(
        Sighting(time: now, adapter: adapter, beacon: beacon, measuredPower: -59, rssi: RSSI(dBm: -60)), into: &actions)
}
