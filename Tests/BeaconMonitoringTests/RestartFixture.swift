import BaseTypes
import BluetoothLE
import Foundation
import JSON
import SystemPackage
import TestSupport

@testable import BeaconMonitoring
@testable import EventLog

/// A gateway that is killed and started again on a simulated disk, and the reference model, which gets the same inputs.
struct RestartFixture {
    /// The first difference from the expected result.
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// A line of a process.
    private struct ProcessLine {
        var number: Int
        var action: Action
        /// The name that the adapter of the sighting had when the line was written.
        var adapter: String
    }

    /// A running process: engine, journal and model.
    private struct Life {
        var engine: MonitorEngine
        var model: ReferenceMonitor
        var journal: Journal
        var modelEncoder: LineEncoder
        var engineEncoder: LineEncoder
        /// The name of each adapter in lines, by its index.
        var names: [UInt16: String] = [:]
        var lines: [ProcessLine] = []
        /// The number of the start, the last line before it, and its time.
        var begin: (start: UInt32, sequence: Int, time: Instant)
    }

    private static let events: FilePath = "/events"
    private static let state: FilePath = "/state"

    let script: Script
    let plan: Plan
    let disk: SimulatedDisk
    private var life: Life?
    private var starts: UInt32 = 0
    /// The monitors and conditions, as in a configuration.
    private var setups: [MonitorSetup] = []
    private var names: Set<BeaconIdentity> = []
    private var offset: ClockOffset
    private var ambient: Diagnostics = []
    private var now: Instant
    private var silenceMeansNotScanning = true
    /// The expected text of each line, by its number.
    private var lines: [Int: String] = [:]
    /// The state of the snapshot that is on the disk, and the number of the last line in it.
    private var memory: RestartMemory?
    private var memorySequence = 0
    /// The number of the start whose process stored the snapshot.
    private var memoryStart: UInt32 = 0
    /// The same values for a snapshot that is being stored, and the content of the file before it.
    private var candidate: (memory: RestartMemory, sequence: Int, before: [UInt8]?)?
    /// The number of the last line that is known to be durable.
    private var durable = 0
    private(set) var kills = 0

    init(_ script: Script) {
        self.script = script.onMicroseconds()
        plan = Plan(seed: script.seed)
        disk = SimulatedDisk(seed: script.seed &+ 77)
        offset = self.script.clockOffset
        now = self.script.start
    }

    // MARK: The process

    private var journalOptions: JournalOptions {
        get throws {
            var options = JournalOptions(
                directory: Self.events, stateDirectory: Self.state, gateway: try Identifier("lobby"))
            options.durability = plan.durability
            options.rotateSize = plan.rotateSize
            options.retainSize = plan.retainSize
            options.envelope = plan.envelope
            options.snapshotInterval = .seconds(20)
            return options
        }
    }

    /// Starts a process. If it is killed during the start, there is no process afterwards.
    mutating func start(after silence: Duration) throws {
        starts += 1
        now = now + silence
        let options = try journalOptions
        let boot = BootID(machine: "5f0c5f0c", process: starts)
        let journal: Journal
        do {
            journal = try Journal(
                options, boot: boot, now: now, clockOffset: offset, isClockSynchronized: true, files: disk)
        } catch {
            if disk.isDead { return }
            throw Failure(description: "can't be opened: \(error)")
        }
        // The process was killed while it removed a torn line, so its result does not count.
        if disk.isDead { return }
        let survived = journal.recovery.sequence
        guard survived >= durable else {
            throw Failure(description: "line \(durable) was durable, and \(survived) is the last after the restart")
        }
        let left = try LinesLeft(
            on: disk, in: Self.events, expecting: lines, durable: durable, mayHaveHoles: powerWasCut)
        // Only a power failure leaves remains of lines after the last one. New lines must not get their numbers.
        guard survived == left.last || survived > left.last && powerWasCut else {
            throw Failure(description: "numbers continue after \(survived), but \(left.last) is the last line")
        }
        lines = lines.filter { left.contains($0.key) }
        let memory = remembered(from: left)
        if starts > 1, memory != nil || journal.recovery.snapshot != nil {
            try RestartComparison.check(
                journal.recovery.snapshot ?? MonitorSnapshot(), memory?.snapshot ?? MonitorSnapshot())
            try RestartComparison.checkRecords(of: journal, after: lines)
        }
        durable = survived
        let begun = try endedVisit(journal, after: left.last)
        var encoding = LineEncoder.Options(gateway: options.gateway)
        encoding.boot = boot.text
        encoding.envelope = options.envelope
        var life = Life(
            engine: MonitorEngine(settings: script.settings, start: now, clockOffset: offset),
            model: ReferenceMonitor(settings: script.settings, start: now, clockOffset: offset), journal: journal,
            modelEncoder: LineEncoder(encoding, after: begun), engineEncoder: LineEncoder(encoding, after: begun),
            begin: (starts, survived, now))
        self.memory = memory ?? RestartMemory(snapshot: MonitorSnapshot())
        memorySequence = survived
        candidate = nil
        life.engine.silenceMeansNotScanning = silenceMeansNotScanning
        life.model.silenceMeansNotScanning = silenceMeansNotScanning
        life.engine.ambientDiagnostics = ambient
        life.model.ambientDiagnostics = ambient
        var buffer = ActionBuffer()
        try life.engine.begin(setups, naming: names, from: journal.recovery.snapshot, at: now, into: &buffer)
        var expected = ActionBuffer()
        life.model.named = names
        for setup in setups { try life.model.addMonitor(setup.name, settings: setup.settings) }
        if let memory { try life.model.restore(configured(memory.snapshot), into: &expected) }
        try Self.apply(setups, to: &life.model, memory?.snapshot, at: now, into: &expected)
        life.model.name(names, at: now, into: &expected)
        self.life = life
        try deliver(Array(buffer.actions), Array(expected.actions))
    }

    /// Does the same as ``MonitorEngine/begin(_:from:at:into:)`` after restoring, in a second implementation.
    private static func apply(
        _ setups: [MonitorSetup], to model: inout ReferenceMonitor, _ restored: MonitorSnapshot?, at time: Instant,
        into actions: inout ActionBuffer
    ) throws {
        model.advance(to: time, into: &actions)
        for condition in restored?.conditions ?? [] {
            let identifier = ScriptGenerator.identifier(condition.identifier)
            let isWanted = setups.contains { setup in
                setup.name.text == condition.monitor && setup.conditions.contains { $0.identifier == identifier }
            }
            if !isWanted { try model.remove(identifier, at: time, into: &actions) }
        }
        for setup in setups {
            for condition in setup.conditions {
                try model.add(
                    condition.condition, identifier: condition.identifier, monitor: setup.name,
                    assuming: condition.assuming, settings: condition.settings, at: time, into: &actions)
            }
        }
    }

    /// Returns the snapshot with the settings of the configuration for each condition whose line with the settings was
    /// lost.
    private func configured(_ snapshot: MonitorSnapshot) -> MonitorSnapshot {
        var snapshot = snapshot
        for index in snapshot.conditions.indices where snapshot.conditions[index].settings == nil {
            let identifier = ScriptGenerator.identifier(snapshot.conditions[index].identifier)
            snapshot.conditions[index].settings =
                setups.flatMap(\.conditions).first { $0.identifier == identifier }?.settings
        }
        return snapshot
    }

    /// Performs a step of the script.
    ///
    /// - Returns: whether the process is alive afterwards.
    mutating func step(_ step: Step) throws -> Bool {
        guard var life else { return false }
        switch step {
        case .clockOffset(let new):
            if new != offset {
                let change = ClockChange(before: offset, after: new, isSynchronized: true, time: life.engine.now)
                offset = new
                life.journal.append(change)
                var text = LineBuffer()
                life.engineEncoder.encode(change, into: &text)
                lines[life.engineEncoder.sequence] = String(decoding: text.bytes, as: UTF8.self)
                var other = LineBuffer()
                life.modelEncoder.encode(change, into: &other)
            }
        case .ambient(let flags): ambient = flags
        case .silenceMeansNotScanning(let isTaken): silenceMeansNotScanning = isTaken
        default: break
        }
        let done = life.engine.perform(step)
        let expected = life.model.perform(step)
        self.life = life
        if done.error == nil { note(step) }
        now = life.engine.now
        try deliver(done.actions, expected.actions)
        return self.life != nil
    }

    /// Makes the change that an operator would have made in the configuration.
    private mutating func note(_ step: Step) {
        switch step {
        case .monitor(let name, let settings): setups.append(MonitorSetup(name: name, settings: settings))
        case .add(let condition, let identifier, let monitor, let assuming, let settings, _):
            guard let place = setups.firstIndex(where: { $0.name == monitor }) else { return }
            let new = MonitorSetup.Condition(
                identifier: identifier, condition: condition, assuming: assuming, settings: settings)
            if let index = setups[place].conditions.firstIndex(where: { $0.identifier == identifier }) {
                setups[place].conditions[index] = new
            } else {
                setups[place].conditions.append(new)
            }
        case .name(let beacons, _): names = beacons
        case .remove(let identifier, _):
            for place in setups.indices { setups[place].conditions.removeAll { $0.identifier == identifier } }
        default: break
        }
    }

    /// Passes actions to the journal, as a gateway does at the end of a turn, and compares them with those of the
    /// model.
    private mutating func deliver(_ actions: [Action], _ expected: [Action]) throws {
        guard var life else { return }
        let (engine, model) = (life.engine, life.model)
        var texts: [String] = []
        for action in actions {
            if case .adapterNamed(let adapter, let name) = action { life.names[adapter.index] = name }
            var text = LineBuffer()
            life.engineEncoder.encode(action, into: &text)
            guard text.count > 0 else { continue }
            texts.append(String(decoding: text.bytes, as: UTF8.self))
            lines[life.engineEncoder.sequence] = texts.last
            var adapter = ""
            if case .event(let event) = action, let sighting = event.sighting {
                adapter = life.names[sighting.adapter.index] ?? ""
            }
            life.lines.append(
                ProcessLine(number: life.engineEncoder.sequence, action: action, adapter: adapter))
        }
        let expectedTexts = expected.compactMap { action -> String? in
            var text = LineBuffer()
            life.modelEncoder.encode(action, into: &text)
            return text.count > 0 ? String(decoding: text.bytes, as: UTF8.self) : nil
        }
        guard texts == expectedTexts else {
            let place = zip(texts, expectedTexts).enumerated().first { $1.0 != $1.1 }?.offset
            let index = place ?? min(texts.count, expectedTexts.count)
            throw Failure(
                description: "a line is\n  \(index < texts.count ? texts[index] : "nothing")\nexpected\n  "
                    + "\(index < expectedTexts.count ? expectedTexts[index] : "nothing")")
        }
        for action in actions { life.journal.append(action) }
        let journal = life.journal
        self.life = life
        journal.commit(at: now)
        journal.advance(to: now)
        guard !disk.isDead else { return kill() }
        if let failure = journal.failure { throw Failure(description: failure) }
        if plan.durability == .event, journal.durableSequence != journal.sequence {
            throw Failure(description: "committed and not durable")
        }
        durable = journal.durableSequence
        guard journal.wantsSnapshot else { return }
        let before = disk.contents("\(Self.state)/state.json")
        candidate = (RestartMemory(snapshot: model.memory), journal.sequence, before)
        let isKept = journal.keep(engine.snapshot, at: now)
        guard !disk.isDead else { return kill() }
        guard isKept else { throw Failure(description: "no snapshot: \(journal.failure ?? "-")") }
        durable = journal.durableSequence
        takeCandidate()
    }

    private mutating func takeCandidate() {
        guard let candidate else { return }
        memory = candidate.memory
        memorySequence = candidate.sequence
        memoryStart = life?.begin.start ?? deadBegin.start
        self.candidate = nil
    }

    /// Checks the line that a journal writes at its start. If the last line is an exit whose visit line was not
    /// written, this is the visit.
    ///
    /// - Returns: the number of the last line afterwards.
    private mutating func endedVisit(_ journal: Journal, after last: Int) throws -> Int {
        let begun = journal.sequence
        var parser = LineParser()
        parser.text = JSONText(Array((lines[last] ?? "").utf8.dropLast()))
        let event = parser.parse() && parser.head.kind == .event ? parser.event() : nil
        guard begun > journal.recovery.sequence else { return begun }
        let text = journal.waitingBytes
        parser.text = JSONText(Array(text.dropLast()))
        guard parser.parse(), let visit = parser.visit(), let event, event.state == .unsatisfied,
            begun == journal.recovery.sequence + 1, parser.head.sequence == begun, parser.head.time == now,
            visit.identifier == event.identifier, visit.scope == event.scope, visit.refinement == event.refinement,
            visit.departure == nil || visit.departure == event.lastSeen
        else {
            throw Failure(
                description:
                    "after \(lines[last] ?? "nothing") the line of a start is \(String(decoding: text, as: UTF8.self))")
        }
        lines[begun] = String(decoding: text, as: UTF8.self)
        return begun
    }

    // MARK: Kills

    /// Counts a killed process.
    mutating func kill() { kills += 1 }

    /// Removes the killed process and restarts the disk. If the power failed, the disk loses data.
    mutating func bury(_ kill: SimulatedDisk.Kill) {
        disk.restart(after: kill)
        if kill == .power { powerWasCut = true }
        if let life {
            dead = life.lines
            deadBegin = life.begin
        }
        life = nil
    }

    private var powerWasCut = false
    private var dead: [ProcessLine] = []
    /// The start of the process that was killed.
    private var deadBegin: (start: UInt32, sequence: Int, time: Instant) = (0, 0, .earliest)

    /// Returns the state that a new process must have: the snapshot on the disk and the changes by the lines after it.
    private mutating func remembered(from left: LinesLeft) -> RestartMemory? {
        // If the file has changed, it is that of the killed process, or an older one that a power failure restored.
        let file = disk.contents("\(Self.state)/state.json")
        if let candidate, let file, file != candidate.before, isOfTheDead(file) { takeCandidate() }
        candidate = nil
        guard var memory else { return nil }
        if let first = left.numbers.filter({ $0 > deadBegin.sequence }).min(), memoryStart < deadBegin.start {
            var parser = LineParser()
            parser.text = JSONText(Array((lines[first] ?? "").utf8.dropLast()))
            let began = parser.parse() ? parser.head.time : deadBegin.time
            // The snapshot is from an earlier process. Adapters that scanned then had stopped when the killed process
            // started.
            for index in memory.snapshot.adapters.indices where memory.snapshot.adapters[index].stopped == nil {
                memory.snapshot.adapters[index].stopped = .timeline(began)
            }
        }
        for line in dead where line.number > memorySequence && left.contains(line.number) {
            memory.apply(line.action, adapter: line.adapter)
        }
        dead = []
        // Rule N4: for L2, adapters count as stopped from this start on.
        for adapter in memory.snapshot.adapters { memory.outages[adapter.name] = now }
        memory.snapshot.endVisits()
        return memory
    }

    private func isOfTheDead(_ file: [UInt8]) -> Bool {
        (try? StateFile(parsing: file).boot) == BootID(machine: "5f0c5f0c", process: deadBegin.start).text
    }

    // MARK: A run

    /// Runs the script. Each process is killed at its call in the list; the last process is not killed.
    ///
    /// - Returns: the number of calls of each process.
    mutating func run(killing: [(call: Int, kill: SimulatedDisk.Kill)]) throws -> [Int] {
        var calls: [Int] = []
        var pending = killing[...]
        var random = SeededGenerator(state: script.seed ^ 0xABCD)
        disk.killAt = pending.first?.call
        try start(after: .zero)
        var index = 0
        while true {
            if disk.isDead {
                let kill = pending.removeFirst().kill
                calls.append(disk.calls)
                bury(kill)
                disk.killAt = pending.first?.call
                try start(after: random.pick([.zero, .seconds(1), .seconds(7), .seconds(30)]))
                continue
            }
            guard index < script.steps.count else { break }
            index += 1
            _ = try step(script.steps[index - 1])
        }
        calls.append(disk.calls)
        return calls
    }
}
