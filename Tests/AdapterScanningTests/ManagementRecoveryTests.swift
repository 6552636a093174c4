import TestSupport
import Testing

@testable import AdapterScanning

@Suite struct ManagementRecoveryTests {
    // MARK: Loss

    @Test func `T5: a loss is reported since the last report, and the complete state is requested again`() {
        let world = ManagementWorld.listening()
        world.advance(to: .second(201))
        _ = world.report()
        let last = world.now
        world.session.lost(12, at: .second(203))
        world.session.resynchronize(at: .second(203))
        world.collect()
        #expect(world.reported == [.lost(adapter: 0, count: 12, since: last)])
        #expect(world.commands == [.readIndexList, .readInformation])
        // The report that the monitor was removed was among the lost messages.
        world.settle(handles: [])
        #expect(world.reported.contains(.stopped(adapter: 0, since: world.now, reason: "its monitor was removed")))
        #expect(world.session.adapters[0].monitor == 1)
    }

    @Test func `T5: an adapter whose removal was lost disappears when the list does not have it`() {
        let world = ManagementWorld.listening()
        world.session.resynchronize(at: world.now)
        world.collect()
        world.answer(.success, .indexes([]))
        #expect(world.reported.contains(.disappeared(adapter: 0)))
    }

    // MARK: The watchdog

    @Test func `widen is taken only if the controller filters by patterns, and ends after 10 s, not 1 ns earlier`() {
        var world = ManagementWorld.listening()
        guard case .skipped = world.session.take(.widen, on: 0, at: world.now) else {
            Issue.record("widen was taken without a filter by patterns")
            return
        }
        world = .listening(isOffloaded: true)
        #expect(world.session.take(.widen, on: 0, at: world.now) == .taken)
        world.collect()
        #expect(world.commands == [.addMonitor(.flags)])
        world.answer(.success, .handle(2))
        #expect(world.session.changes.map(\.handles) == [[1, 2]])
        world.advance(by: .seconds(10) - .nanoseconds(1))
        #expect(world.commands == [])
        world.advance(by: .nanoseconds(1))
        #expect(world.commands == [.removeMonitor(2)])
        world.answer()
        #expect(world.isListening)
        #expect(world.session.nextDeadline == nil)
    }

    @Test func `restartScan removes the monitor and adds it again, also if the kernel is busy`() {
        let world = ManagementWorld.listening()
        #expect(world.session.take(.restartScan, on: 0, at: world.now) == .taken)
        world.collect()
        #expect(world.commands == [.removeMonitor(1)])
        world.answer(.busy)
        world.advanceToDeadline()
        #expect(world.commands == [.removeMonitor(1)])
        world.answer()
        #expect(world.commands == [.addMonitor(.beacons)])
        world.answer(.success, .handle(1))
        _ = world.report()
        #expect(world.isListening)
        #expect(world.commands == [])
    }

    @Test func `powerCycle switches off and on, even if adapters must not be switched on otherwise`() {
        var options = ManagementOptions()
        options.powersAdapters = false
        let world = ManagementWorld.listening(options)
        #expect(world.session.take(.powerCycle, on: 0, at: world.now) == .taken)
        world.collect()
        #expect(world.commands == [.setPowered(false)])
        world.answer(.success, .settings([.lowEnergy]))
        #expect(!world.isListening)
        #expect(world.commands == [.setPowered(true)])
        world.answer(.failed)
        world.advanceToDeadline()
        #expect(world.commands == [.setPowered(true)])
        world.answer(.success, .settings([.lowEnergy, .powered]))
        #expect(world.isListening)
        #expect(world.commands == [])
    }

    @Test
    func
        `a power cycle is dropped if the step before it makes the controller scan, until it is requested again`()
    {
        let world = ManagementWorld.listening()
        #expect(world.session.take(.restartScan, on: 0, at: world.now) == .taken)
        world.collect()
        world.answer()
        #expect(world.commands == [.addMonitor(.beacons)])
        // The controller hangs: the kernel does not answer for 5 s.
        world.advance(by: .seconds(5))
        #expect(world.session.take(.powerCycle, on: 0, at: world.now) == .taken)
        world.collect()
        #expect(world.commands == [.addMonitor(.beacons)])
        world.answer(.success, .handle(1))
        #expect(world.commands == [])
        _ = world.report()
        #expect(world.isListening)
        #expect(world.session.take(.powerCycle, on: 0, at: world.now) == .taken)
        world.collect()
        #expect(world.commands == [.setPowered(false)])
    }

    @Test func `if a monitor cannot be added, a requested power cycle still takes place`() {
        let world = ManagementWorld.listening()
        _ = world.session.take(.restartScan, on: 0, at: world.now)
        world.collect()
        world.answer()
        _ = world.session.take(.powerCycle, on: 0, at: world.now)
        world.collect()
        world.answer(.failed)
        world.advanceToDeadline()
        #expect(world.commands == [.setPowered(false)])
    }

    @Test func `a step that cannot be taken is skipped with a reason`() {
        let world = ManagementWorld.listening()
        for (step, adapter) in [(WatchdogStep.reset, 0), (.restartScan, 1), (.powerCycle, 9)] {
            guard case .skipped(let reason) = world.session.take(step, on: adapter, at: world.now) else {
                Issue.record("a step was taken that must be skipped")
                return
            }
            #expect(!reason.isEmpty)
        }
        #expect(world.commands == [])
    }

    // MARK: Undoing all changes

    @Test func `undoing first restores the previous settings, then removes the monitor`() {
        let world = ManagementWorld.listening()
        #expect(
            world.session.undoing.map(\.command) == [
                .setConfiguration(ScanConfiguration([.window: 0x30])), .removeMonitor(1),
            ])
    }

    @Test func `remaining monitors of a crashed process are removed, and its stored settings are used for undoing`() {
        let left = AdapterChanges(
            index: 0, address: 0x00AA_0100_0042, handles: [3, 4],
            previous: ScanConfiguration([.interval: 0x50, .window: 0x20]))
        let world = ManagementWorld(inherited: [left])
        #expect(world.session.changes == [left])
        world.answer(.success, .indexes([0]))
        world.answer(.success, ManagementWorld.information())
        world.answer(.success, .features(MonitorFeatures(isOffloaded: false, handlesMax: 32, handles: [2, 3])))
        #expect(world.commands == [.removeMonitor(3)])
        world.answer()
        world.answer(.success, .configuration(.wide))
        #expect(world.commands == [.addMonitor(.beacons)])
        world.answer(.success, .handle(3))
        #expect(
            world.session.undoing.map(\.command) == [
                .setConfiguration(ScanConfiguration([.interval: 0x50, .window: 0x20])), .removeMonitor(3),
            ])
    }

    @Test func `changes that a crashed process made on another controller are ignored`() {
        let left = AdapterChanges(index: 0, address: 0x99, handles: [3], previous: ScanConfiguration([.window: 1]))
        var world = ManagementWorld(inherited: [left])
        world.settle(handles: [3])
        #expect(
            world.session.undoing.map(\.command) == [
                .setConfiguration(ScanConfiguration([.window: 0x30])), .removeMonitor(1),
            ])
        world = ManagementWorld(inherited: [left])
        world.answer(.success, .indexes([]))
        #expect(world.session.changes == [])
    }

    @Test func `a leftover monitor that cannot be removed does not keep the adapter from scanning`() {
        let left = AdapterChanges(
            index: 0, address: 0x00AA_0100_0042, handles: [3], previous: ScanConfiguration())
        let world = ManagementWorld(inherited: [left])
        world.answer(.success, .indexes([0]))
        world.answer(.success, ManagementWorld.information())
        for _ in 0..<12 {
            guard let command = world.commands.first else {
                world.advanceToDeadline()
                continue
            }
            switch command {
            case .removeMonitor: world.answer(.failed)
            case .readMonitorFeatures:
                world.answer(
                    .success, .features(MonitorFeatures(isOffloaded: false, handlesMax: 32, handles: [3])))
            case .readInformation: world.answer(.success, ManagementWorld.information())
            default: break
            }
            if world.commands == [.readConfiguration] { break }
        }
        #expect(world.commands == [.readConfiguration])
    }

    @Test func `100,000 messages of a hostile kernel never trap, and never leave a deadline in the past`() throws {
        var generator = SeededGenerator(state: SeededGenerator.seed)
        let originals = try HCITest.fixture("management.jsonl").compactMap(\.received).map { HCITest.bytes($0) }
        let world = ManagementWorld()
        for _ in 0..<100_000 {
            let bytes =
                Bool.random(using: &generator)
                ? originals.randomElement(using: &generator)!
                : HCITest.mutate(originals.randomElement(using: &generator)!, &generator)
            switch Int.random(in: 0..<8, using: &generator) {
            case 0: world.advance(by: .milliseconds(.random(in: 0...3000, using: &generator)))
            case 1:
                _ = world.session.take(WatchdogStep.allCases.randomElement(using: &generator)!, on: 0, at: world.now)
            case 2 where !world.open.isEmpty:
                world.answer(ManagementStatus(rawValue: .random(in: 0...21, using: &generator)))
            case 3:
                world.session.lost(.random(in: 0...5, using: &generator), at: world.now)
                world.session.resynchronize(at: world.now)
            default:
                if ManagementReport.isReport(bytes.span) {
                    if let report = try? ManagementReport(bytes.span) {
                        _ = world.session.received(report.index, isMonitors: report.isMonitors, at: world.now)
                    }
                } else if let message = try? ManagementMessage(bytes.span) {
                    world.session.received(message, at: world.now)
                }
            }
            world.collect()
            world.open = Array(world.open.suffix(64))
            world.reported = []
            if let deadline = world.session.nextDeadline { #expect(deadline > world.now) }
            #expect(world.session.adapters.count <= ManagementSession.adaptersMax)
        }
    }
}
