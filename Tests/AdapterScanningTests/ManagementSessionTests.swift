import BaseTypes
import BluetoothLE
import Testing

@testable import AdapterScanning

@Suite struct ManagementSessionTests {
    @Test func `the steps to listening are list, information, features, settings, monitor and first report`() {
        let fixture = ManagementFixture()
        #expect(fixture.commands == [.readIndexList])
        fixture.answer(.success, .indexes([0]))
        #expect(fixture.commands == [.readInformation])
        fixture.answer(.success, ManagementFixture.information())
        #expect(
            fixture.reported.contains(
                .appeared(
                    adapter: 0, controller: "00:AA:01:00:00:42, Bluetooth 4.2, company 1521",
                    address: DeviceAddress(0xAA_0100_0042, kind: .public))))
        #expect(fixture.commands == [.readMonitorFeatures])
        fixture.answer(.success, .features(MonitorFeatures(isOffloaded: false, handlesMax: 32, handles: [])))
        #expect(fixture.commands == [.readConfiguration])
        fixture.answer(.success, .configuration(ManagementFixture.kernelConfiguration))
        #expect(fixture.commands == [.setConfiguration(ScanConfiguration([.window: 0x60]))])
        fixture.answer()
        #expect(fixture.commands == [.addMonitor(.beacons)])
        fixture.answer(.success, .handle(1))
        #expect(!fixture.isListening)
        #expect(fixture.report())
        #expect(
            fixture.reported.suffix(2) == [
                .listening(adapter: 0, reason: "it scans for advertisement monitor 1"), .obstacles([]),
            ])
    }

    @Test func `a scan for a part of the time sets window and interval, and is reported as thinned`() {
        var options = ManagementOptions()
        options.timing = ScanTiming(interval: 960, window: 96)
        let fixture = ManagementFixture(options)
        fixture.answer(.success, .indexes([0]))
        fixture.answer(.success, ManagementFixture.information())
        fixture.answer(.success, .features(MonitorFeatures(isOffloaded: false, handlesMax: 32, handles: [])))
        fixture.answer(.success, .configuration(ManagementFixture.kernelConfiguration))
        #expect(fixture.commands == [.setConfiguration(ScanConfiguration([.interval: 960, .window: 96]))])
        fixture.answer()
        fixture.answer(.success, .handle(1))
        #expect(fixture.report())
        #expect(fixture.reported.last == .obstacles([.thinned]))
    }

    @Test func `a newly plugged-in adapter cannot be discovering, so it is listening once it has the monitor`() {
        let fixture = ManagementFixture()
        fixture.answer(.success, .indexes([]))
        #expect(fixture.reported == [.obstacles([.unavailable])])
        fixture.receive(.indexAdded)
        fixture.settle()
        #expect(fixture.isListening)
    }

    @Test func `reports of another program's discovery are not delivered until its end is reported`() {
        let fixture = ManagementFixture()
        fixture.settle()
        #expect(!fixture.report(isMonitors: false))
        #expect(fixture.session.reportsEarly == 1)
        fixture.receive(.discovering(true))
        #expect(!fixture.report(isMonitors: false))
        fixture.receive(.discovering(false))
        #expect(fixture.isListening)
        #expect(fixture.report(isMonitors: false))
    }

    @Test func `if no end of a discovery is reported, listening starts after 10.5 s, not 1 ns earlier`() {
        let fixture = ManagementFixture()
        fixture.settle()
        let begin = fixture.now
        fixture.advance(to: begin + .milliseconds(10_500) - .nanoseconds(1))
        #expect(!fixture.isListening)
        #expect(fixture.session.nextDeadline == begin + .milliseconds(10_500))
        fixture.advance(to: begin + .milliseconds(10_500))
        #expect(fixture.isListening)
    }

    @Test func `a discovery that starts while the adapter is listening changes nothing`() {
        let fixture = ManagementFixture.listening()
        fixture.receive(.discovering(true))
        #expect(fixture.report(isMonitors: false))
        fixture.receive(.discovering(false))
        #expect(fixture.reported == [])
    }

    @Test func `a discovery reported less than 1 s after the monitor delays listening, unless a report came`() {
        for (lag, isHeld) in [(Duration.seconds(1) - .nanoseconds(1), true), (.seconds(1), false)] {
            let fixture = ManagementFixture()
            fixture.answer(.success, .indexes([]))
            fixture.receive(.indexAdded)
            fixture.settle()
            #expect(fixture.isListening)
            fixture.advance(by: lag)
            fixture.receive(.discovering(true))
            #expect(fixture.isListening != isHeld)
            fixture.receive(.discovering(false))
            #expect(fixture.isListening)
        }
        let fixture = ManagementFixture()
        fixture.answer(.success, .indexes([]))
        fixture.receive(.indexAdded)
        fixture.settle()
        _ = fixture.report()
        fixture.receive(.discovering(true))
        #expect(fixture.isListening)
    }

    // MARK: Failures

    @Test func `if another program switches power off and on, the monitor stays, and the adapter listens again`() {
        let fixture = ManagementFixture.listening()
        fixture.advance(by: .seconds(1))
        fixture.receive(.settings([.lowEnergy]))
        #expect(
            fixture.reported == [
                .stopped(adapter: 0, since: fixture.now, reason: "it was switched off"), .obstacles([.waiting]),
            ])
        #expect(!fixture.report())
        fixture.reported = []
        fixture.advance(by: .seconds(1))
        fixture.receive(.settings([.lowEnergy, .powered]))
        #expect(fixture.reported.first == .listening(adapter: 0, reason: "it scans for advertisement monitor 1"))
        #expect(fixture.commands == [])
    }

    @Test func `an adapter that another program switched off is switched on after 5 s, not 1 ns earlier`() {
        let fixture = ManagementFixture.listening()
        fixture.receive(.settings([.lowEnergy]))
        let off = fixture.now
        fixture.advance(to: off + .seconds(5) - .nanoseconds(1))
        #expect(fixture.commands == [])
        fixture.advance(to: off + .seconds(5))
        #expect(fixture.commands == [.setPowered(true)])
        fixture.answer(.success, .settings([.powered, .lowEnergy]))
        #expect(fixture.isListening)
    }

    @Test func `an adapter that another program switched off stays off if it must not be switched on`() {
        var options = ManagementOptions()
        options.powersAdapters = false
        let fixture = ManagementFixture.listening(options)
        fixture.receive(.settings([.lowEnergy]))
        fixture.advance(by: .seconds(3600))
        #expect(fixture.commands == [])
        #expect(fixture.session.nextDeadline == nil)
        #expect(fixture.reported.last == .obstacles([.waiting]))
    }

    @Test func `if rfkill blocks, its kind is reported and nothing is sent until 1 s after the block's end`() throws {
        let fixture = ManagementFixture.listening()
        var rfkill = RFKillState()
        _ = rfkill.received(HCITest.bytes("0100000002020100").span) { _ in "hci0" }
        fixture.session.received(rfkill, at: fixture.now)
        fixture.collect()
        fixture.receive(.settings([.lowEnergy]))
        #expect(
            fixture.reported == [
                .stopped(adapter: 0, since: fixture.now, reason: "rfkill blocks it"), .obstacles([.blocked]),
            ])
        fixture.advance(by: .seconds(600))
        #expect(fixture.commands == [])
        #expect(fixture.session.nextDeadline == nil)
        _ = rfkill.received(HCITest.bytes("0100000002020001").span) { _ in "hci0" }
        fixture.session.received(rfkill, at: fixture.now)
        fixture.collect()
        #expect(fixture.reported.last == .obstacles([.blockedByHardware]))
        _ = rfkill.received(HCITest.bytes("0100000002020000").span) { _ in "hci0" }
        fixture.session.received(rfkill, at: fixture.now)
        fixture.collect()
        #expect(fixture.reported.last == .obstacles([.waiting]))
        let unblocked = fixture.now
        fixture.advance(to: unblocked + .seconds(1) - .nanoseconds(1))
        #expect(fixture.commands == [])
        fixture.advance(to: unblocked + .seconds(1))
        #expect(fixture.commands == [.setPowered(true)])
        fixture.answer(.success, .settings([.powered, .lowEnergy]))
        #expect(fixture.isListening)
    }

    @Test func `an adapter that is off for 0.1 s after a hardware error listens again without a command`() {
        let fixture = ManagementFixture.listening()
        fixture.receive(.settings([.lowEnergy]))
        fixture.advance(by: .milliseconds(100))
        fixture.receive(.settings([.lowEnergy, .powered]))
        #expect(fixture.isListening)
        #expect(fixture.commands == [])
    }

    @Test func `if a bluetoothd that starts removes all monitors, another one is added at once`() {
        let fixture = ManagementFixture.listening()
        fixture.receive(.monitorRemoved(0))
        #expect(
            fixture.reported.first
                == .stopped(
                    adapter: 0, since: fixture.now, reason: "all monitors were removed, because a bluetoothd starts"))
        #expect(fixture.records == 1)
        // The bluetoothd may have changed the scan window.
        #expect(fixture.commands == [.readConfiguration])
        fixture.settle()
        #expect(fixture.session.adapters[0].monitor == 1)
        #expect(fixture.report())
        #expect(fixture.isListening)
    }

    @Test func `if a bluetoothd starts while the adapter is off, the monitor is added when the power is on`() {
        let fixture = ManagementFixture.listening()
        fixture.receive(.settings([.lowEnergy]))
        fixture.receive(.monitorRemoved(0))
        fixture.settle()
        #expect(fixture.session.adapters[0].monitor == nil)
        fixture.receive(.settings([.lowEnergy, .powered]))
        #expect(fixture.commands == [.addMonitor(.beacons)])
    }

    @Test func `if another client's monitor is removed, nothing changes; if the own one is, it is added again`() {
        let fixture = ManagementFixture.listening()
        fixture.receive(.monitorRemoved(2))
        #expect(fixture.reported == [])
        fixture.receive(.monitorRemoved(1))
        #expect(fixture.commands == [.addMonitor(.beacons)])
        #expect(
            fixture.reported.first
                == .stopped(adapter: 0, since: fixture.now, reason: "another program removed its monitor"))
    }

    @Test func `an unplugged adapter stops and disappears; plugged in, its complete state is requested again`() {
        let fixture = ManagementFixture.listening()
        fixture.receive(.settings([.lowEnergy]))
        fixture.receive(.indexRemoved)
        #expect(
            fixture.reported == [
                .stopped(adapter: 0, since: fixture.now, reason: "it was switched off"), .obstacles([.waiting]),
                .disappeared(adapter: 0), .obstacles([.unavailable]),
            ])
        fixture.reported = []
        fixture.receive(.indexAdded)
        // bluetoothd removes all monitors and switches the adapter on while the state is being requested.
        fixture.receive(.monitorRemoved(0))
        fixture.receive(.settings([.lowEnergy]))
        fixture.receive(.settings([.lowEnergy, .powered]))
        fixture.settle()
        #expect(fixture.isListening)
        #expect(fixture.reported.contains { if case .appeared(0, _, _) = $0 { true } else { false } })
    }

    @Test func `without bluetoothd, a dual-mode controller gets Low Energy, power after 1 s, then the monitor`() {
        let fixture = ManagementFixture()
        fixture.answer(.success, .indexes([0]))
        fixture.answer(.success, ManagementFixture.information(current: []))
        fixture.answer(.success, .features(MonitorFeatures(isOffloaded: false, handlesMax: 32, handles: [])))
        fixture.answer(.success, .configuration(ManagementFixture.kernelConfiguration))
        fixture.answer()
        #expect(fixture.commands == [.setLowEnergy])
        fixture.answer(.success, .settings([.lowEnergy]))
        #expect(fixture.commands == [])
        #expect(fixture.session.nextDeadline == fixture.now + .seconds(1))
        fixture.advance(by: .seconds(1))
        #expect(fixture.commands == [.setPowered(true)])
        fixture.answer(.success, .settings([.lowEnergy, .powered]))
        #expect(fixture.commands == [.addMonitor(.beacons)])
    }

    @Test func `a command that fails is repeated after 0.1 s, then ever later, at most 5 s`() {
        let fixture = ManagementFixture()
        fixture.answer(.success, .indexes([0]))
        var waits: [Duration] = []
        for _ in 0..<9 {
            let failed = fixture.now
            fixture.answer(.busy)
            #expect(fixture.commands == [])
            fixture.advanceToDeadline()
            waits.append(fixture.now - failed)
            #expect(fixture.commands == [.readInformation])
        }
        #expect(waits == [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000].map { .milliseconds($0) })
    }

    @Test func `a command without an answer counts as failed after 20 s, and is repeated`() {
        let fixture = ManagementFixture()
        fixture.answer(.success, .indexes([0]))
        #expect(fixture.session.nextDeadline == fixture.now + .seconds(20))
        fixture.open = []
        fixture.advance(by: .seconds(20))
        #expect(fixture.commands == [])
        fixture.advanceToDeadline()
        #expect(fixture.commands == [.readInformation])
    }

    @Test func `a monitor that was added after its command counted as failed is surplus, and is removed`() {
        let fixture = ManagementFixture.listening()
        fixture.receive(.reply(opcode: 0x52, status: .success, result: .handle(7)))
        #expect(fixture.commands == [.removeMonitor(7)])
        fixture.answer(.success)
        #expect(fixture.isListening)
        #expect(fixture.reported == [])
    }

    @Test func `a power change is accepted from the answer to a command that counted as failed`() {
        let fixture = ManagementFixture.listening()
        fixture.receive(.reply(opcode: 0x05, status: .success, result: .settings([.lowEnergy])))
        #expect(!fixture.isListening)
    }

    @Test func `the backend ends if the kernel does not support monitors or refuses them, not if a command fails`() {
        for (status, kind) in [
            (ManagementStatus.unknownCommand, ScannerError.Kind.unavailable), (.permissionDenied, .denied),
        ] {
            var fixture = ManagementFixture()
            fixture.answer(.success, .indexes([0]))
            for _ in 0..<3 { fixture.answer(.failed); fixture.advanceToDeadline() }
            #expect(!fixture.reported.contains { if case .ended = $0 { true } else { false } })
            fixture = ManagementFixture()
            fixture.answer(.success, .indexes([0]))
            fixture.answer(.success, ManagementFixture.information())
            fixture.answer(.success, .features(MonitorFeatures(isOffloaded: false, handlesMax: 32, handles: [])))
            fixture.answer(.unknownCommand)
            #expect(fixture.commands == [.addMonitor(.beacons)])
            fixture.answer(status)
            #expect(fixture.reported.contains { if case .ended(let error) = $0 { error.kind == kind } else { false } })
        }
    }

    @Test func `if the kernel has no scan settings, half of the time is missed and thinned is reported`() {
        let fixture = ManagementFixture()
        fixture.answer(.success, .indexes([0]))
        fixture.answer(.success, ManagementFixture.information())
        fixture.answer(.success, .features(MonitorFeatures(isOffloaded: false, handlesMax: 32, handles: [])))
        fixture.answer(.unknownCommand)
        fixture.answer(.success, .handle(1))
        _ = fixture.report()
        #expect(fixture.reported.last == .obstacles([.thinned]))
    }

    @Test func `an adapter without Low Energy counts as missing and gets no command`() {
        let fixture = ManagementFixture()
        fixture.answer(.success, .indexes([0]))
        fixture.answer(.success, ManagementFixture.information(current: [.powered], supported: [.powered]))
        #expect(fixture.commands == [])
        #expect(fixture.reported.last == .obstacles([.unavailable]))
        #expect(fixture.session.nextDeadline == nil)
    }

    @Test func `L6: an adapter is not listening while the machine is suspended`() {
        let fixture = ManagementFixture.listening()
        fixture.receive(.suspended(state: 0))
        #expect(fixture.isListening)
        fixture.receive(.suspended(state: 2))
        #expect(!fixture.isListening)
        fixture.receive(.resumed)
        #expect(fixture.isListening)
    }

    // MARK: Several adapters, and selected ones

    @Test func `two adapters are independent; if one is listening, the state of the other is not an obstacle`() {
        let fixture = ManagementFixture()
        fixture.answer(.success, .indexes([0, 1]))
        #expect(fixture.open.map(\.index) == [0, 1])
        fixture.answer(.success, ManagementFixture.information())
        fixture.answer(.success, ManagementFixture.information(address: 0x11, current: [.lowEnergy]))
        fixture.receive(.settings([.lowEnergy, .powered]), of: 0)
        while let place = fixture.open.firstIndex(where: { $0.index == 0 }) {
            let (command, index) = fixture.open.remove(at: place)
            let result: ManagementEvent.Result =
                command.opcode == 0x52
                ? .handle(1)
                : command.opcode == 0x51
                    ? .features(MonitorFeatures(isOffloaded: false, handlesMax: 32, handles: []))
                    : command.opcode == 0x4B ? .configuration(ManagementFixture.kernelConfiguration) : .none
            fixture.receive(.reply(opcode: command.opcode, status: .success, result: result), of: index)
        }
        #expect(fixture.report(of: 0))
        #expect(!fixture.report(of: 1))
        #expect(fixture.reported.last == .obstacles([]))
    }

    @Test func `adapters that are not selected are left alone`() {
        var options = ManagementOptions()
        options.adapters = AdapterSelection(numbers: [1])
        let fixture = ManagementFixture(options)
        fixture.answer(.success, .indexes([0, 1]))
        #expect(fixture.open.map(\.index) == [1])
        fixture.receive(.indexAdded, of: 2)
        #expect(fixture.session.adapters.map(\.index) == [1])
        #expect(!fixture.report(of: 0))
    }

    @Test func `at most 64 adapters are used; further ones are counted`() {
        let fixture = ManagementFixture()
        fixture.answer(.success, .indexes(Array(0..<65)))
        #expect(fixture.session.adapters.count == 64)
        #expect(fixture.session.adaptersRefused == 1)
    }
}
