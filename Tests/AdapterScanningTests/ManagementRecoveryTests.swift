import TestSupport
import Testing

@testable import AdapterScanning

@Suite struct ManagementRecoveryTests {
    // MARK: Loss

    @Test func `T5: a loss is reported since the last report, and the complete state is requested again`() {
        let fixture = ManagementFixture.listening()
        fixture.advance(to: .second(201))
        _ = fixture.report()
        let last = fixture.now
        fixture.session.lost(12, at: .second(203))
        fixture.session.resynchronize(at: .second(203))
        fixture.collect()
        #expect(fixture.reported == [.lost(adapter: 0, count: 12, since: last)])
        #expect(fixture.commands == [.readIndexList, .readInformation])
        // The report that the monitor was removed was among the lost messages.
        fixture.settle(handles: [])
        #expect(fixture.reported.contains(.stopped(adapter: 0, since: fixture.now, reason: "its monitor was removed")))
        #expect(fixture.session.adapters[0].monitor == 1)
    }

    @Test func `T5: an adapter whose removal was lost disappears when the list does not have it`() {
        let fixture = ManagementFixture.listening()
        fixture.session.resynchronize(at: fixture.now)
        fixture.collect()
        fixture.answer(.success, .indexes([]))
        #expect(fixture.reported.contains(.disappeared(adapter: 0)))
    }

    // MARK: The watchdog

    @Test func `widen is taken only if the controller filters by patterns, and ends after 10 s, not 1 ns earlier`() {
        var fixture = ManagementFixture.listening()
        guard case .skipped = fixture.session.take(.widen, on: 0, at: fixture.now) else {
            Issue.record("widen was taken without a filter by patterns")
            return
        }
        fixture = .listening(isOffloaded: true)
        #expect(fixture.session.take(.widen, on: 0, at: fixture.now) == .taken)
        fixture.collect()
        #expect(fixture.commands == [.addMonitor(.flags)])
        fixture.answer(.success, .handle(2))
        #expect(fixture.session.changes.map(\.handles) == [[1, 2]])
        fixture.advance(by: .seconds(10) - .nanoseconds(1))
        #expect(fixture.commands == [])
        fixture.advance(by: .nanoseconds(1))
        #expect(fixture.commands == [.removeMonitor(2)])
        fixture.answer()
        #expect(fixture.isListening)
        #expect(fixture.session.nextDeadline == nil)
    }

    @Test func `restartScan removes the monitor and adds it again, also if the kernel is busy`() {
        let fixture = ManagementFixture.listening()
        #expect(fixture.session.take(.restartScan, on: 0, at: fixture.now) == .taken)
        fixture.collect()
        #expect(fixture.commands == [.removeMonitor(1)])
        fixture.answer(.busy)
        fixture.advanceToDeadline()
        #expect(fixture.commands == [.removeMonitor(1)])
        fixture.answer()
        #expect(fixture.commands == [.addMonitor(.beacons)])
        fixture.answer(.success, .handle(1))
        _ = fixture.report()
        #expect(fixture.isListening)
        #expect(fixture.commands == [])
    }

    @Test func `powerCycle switches off and on, even if adapters must not be switched on otherwise`() {
        var options = ManagementOptions()
        options.powersAdapters = false
        let fixture = ManagementFixture.listening(options)
        #expect(fixture.session.take(.powerCycle, on: 0, at: fixture.now) == .taken)
        fixture.collect()
        #expect(fixture.commands == [.setPowered(false)])
        fixture.answer(.success, .settings([.lowEnergy]))
        #expect(!fixture.isListening)
        #expect(fixture.commands == [.setPowered(true)])
        fixture.answer(.failed)
        fixture.advanceToDeadline()
        #expect(fixture.commands == [.setPowered(true)])
        fixture.answer(.success, .settings([.lowEnergy, .powered]))
        #expect(fixture.isListening)
        #expect(fixture.commands == [])
    }

    @Test
    func
        `a power cycle is dropped if the step before it makes the controller scan, until it is requested again`()
    {
        let fixture = ManagementFixture.listening()
        #expect(fixture.session.take(.restartScan, on: 0, at: fixture.now) == .taken)
        fixture.collect()
        fixture.answer()
        #expect(fixture.commands == [.addMonitor(.beacons)])
        // The controller hangs: the kernel does not answer for 5 s.
        fixture.advance(by: .seconds(5))
        #expect(fixture.session.take(.powerCycle, on: 0, at: fixture.now) == .taken)
        fixture.collect()
        #expect(fixture.commands == [.addMonitor(.beacons)])
        fixture.answer(.success, .handle(1))
        #expect(fixture.commands == [])
        _ = fixture.report()
        #expect(fixture.isListening)
        #expect(fixture.session.take(.powerCycle, on: 0, at: fixture.now) == .taken)
        fixture.collect()
        #expect(fixture.commands == [.setPowered(false)])
    }

    @Test func `if a monitor cannot be added, a requested power cycle still takes place`() {
        let fixture = ManagementFixture.listening()
        _ = fixture.session.take(.restartScan, on: 0, at: fixture.now)
        fixture.collect()
        fixture.answer()
        _ = fixture.session.take(.powerCycle, on: 0, at: fixture.now)
        fixture.collect()
        fixture.answer(.failed)
        fixture.advanceToDeadline()
        #expect(fixture.commands == [.setPowered(false)])
    }

    @Test func `a step that cannot be taken is skipped with a reason`() {
        let fixture = ManagementFixture.listening()
        for (step, adapter) in [(WatchdogStep.reset, 0), (.restartScan, 1), (.powerCycle, 9)] {
            guard case .skipped(let reason) = fixture.session.take(step, on: adapter, at: fixture.now) else {
                Issue.record("a step was taken that must be skipped")
                return
            }
            #expect(!reason.isEmpty)
        }
        #expect(fixture.commands == [])
    }

    // MARK: Undoing all changes

    @Test func `undoing first restores the previous settings, then removes the monitor`() {
        let fixture = ManagementFixture.listening()
        #expect(
            fixture.session.undoing.map(\.command) == [
                .setConfiguration(ScanConfiguration([.window: 0x30])), .removeMonitor(1),
            ])
    }

    @Test func `remaining monitors of a crashed process are removed, and its stored settings are used for undoing`() {
        let left = AdapterChanges(
            index: 0, address: 0x00AA_0100_0042, handles: [3, 4],
            previous: ScanConfiguration([.interval: 0x50, .window: 0x20]))
        let fixture = ManagementFixture(inherited: [left])
        #expect(fixture.session.changes == [left])
        fixture.answer(.success, .indexes([0]))
        fixture.answer(.success, ManagementFixture.information())
        fixture.answer(.success, .features(MonitorFeatures(isOffloaded: false, handlesMax: 32, handles: [2, 3])))
        #expect(fixture.commands == [.removeMonitor(3)])
        fixture.answer()
        fixture.answer(.success, .configuration(.wide))
        #expect(fixture.commands == [.addMonitor(.beacons)])
        fixture.answer(.success, .handle(3))
        #expect(
            fixture.session.undoing.map(\.command) == [
                .setConfiguration(ScanConfiguration([.interval: 0x50, .window: 0x20])), .removeMonitor(3),
            ])
    }

    @Test func `changes that a crashed process made on another controller are ignored`() {
        let left = AdapterChanges(index: 0, address: 0x99, handles: [3], previous: ScanConfiguration([.window: 1]))
        var fixture = ManagementFixture(inherited: [left])
        fixture.settle(handles: [3])
        #expect(
            fixture.session.undoing.map(\.command) == [
                .setConfiguration(ScanConfiguration([.window: 0x30])), .removeMonitor(1),
            ])
        fixture = ManagementFixture(inherited: [left])
        fixture.answer(.success, .indexes([]))
        #expect(fixture.session.changes == [])
    }

    @Test func `a leftover monitor that cannot be removed does not keep the adapter from scanning`() {
        let left = AdapterChanges(
            index: 0, address: 0x00AA_0100_0042, handles: [3], previous: ScanConfiguration())
        let fixture = ManagementFixture(inherited: [left])
        fixture.answer(.success, .indexes([0]))
        fixture.answer(.success, ManagementFixture.information())
        for _ in 0..<12 {
            guard let command = fixture.commands.first else {
                fixture.advanceToDeadline()
                continue
            }
            switch command {
            case .removeMonitor: fixture.answer(.failed)
            case .readMonitorFeatures:
                fixture.answer(
                    .success, .features(MonitorFeatures(isOffloaded: false, handlesMax: 32, handles: [3])))
            case .readInformation: fixture.answer(.success, ManagementFixture.information())
            default: break
            }
            if fixture.commands == [.readConfiguration] { break }
        }
        #expect(fixture.commands == [.readConfiguration])
    }

    @Test func `100,000 messages of a hostile kernel never trap, and never leave a deadline in the past`() throws {
        var generator = SeededGenerator(state: SeededGenerator.seed)
        let originals = try HCITest.fixture("management.jsonl").compactMap(\.received).map { HCITest.bytes($0) }
        let fixture = ManagementFixture()
        for _ in 0..<100_000 {
            let bytes =
                Bool.random(using: &generator)
                ? originals.randomElement(using: &generator)!
                : HCITest.mutate(originals.randomElement(using: &generator)!, &generator)
            switch Int.random(in: 0..<8, using: &generator) {
            case 0: fixture.advance(by: .milliseconds(.random(in: 0...3000, using: &generator)))
            case 1:
                _ = fixture.session.take(
                    WatchdogStep.allCases.randomElement(using: &generator)!, on: 0, at: fixture.now)
            case 2 where !fixture.open.isEmpty:
                fixture.answer(ManagementStatus(rawValue: .random(in: 0...21, using: &generator)))
            case 3:
                fixture.session.lost(.random(in: 0...5, using: &generator), at: fixture.now)
                fixture.session.resynchronize(at: fixture.now)
            default:
                if ManagementReport.isReport(bytes.span) {
                    if let report = try? ManagementReport(bytes.span) {
                        _ = fixture.session.received(report.index, isMonitors: report.isMonitors, at: fixture.now)
                    }
                } else if let message = try? ManagementMessage(bytes.span) {
                    fixture.session.received(message, at: fixture.now)
                }
            }
            fixture.collect()
            fixture.open = Array(fixture.open.suffix(64))
            fixture.reported = []
            if let deadline = fixture.session.nextDeadline { #expect(deadline > fixture.now) }
            #expect(fixture.session.adapters.count <= ManagementSession.adaptersMax)
        }
    }
}
