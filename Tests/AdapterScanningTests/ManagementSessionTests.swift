import BaseTypes
import BluetoothLE
import Testing

@testable import AdapterScanning

@Suite struct ManagementSessionTests {
    @Test func `the steps to listening are list, information, features, settings, monitor and first report`() {
        let world = ManagementWorld()
        #expect(world.commands == [.readIndexList])
        world.answer(.success, .indexes([0]))
        #expect(world.commands == [.readInformation])
        world.answer(.success, ManagementWorld.information())
        #expect(
            world.reported.contains(
                .appeared(
                    adapter: 0, controller: "00:AA:01:00:00:42, Bluetooth 4.2, company 1521",
                    address: DeviceAddress(0xAA_0100_0042, kind: .public))))
        #expect(world.commands == [.readMonitorFeatures])
        world.answer(.success, .features(MonitorFeatures(isOffloaded: false, handlesMax: 32, handles: [])))
        #expect(world.commands == [.readConfiguration])
        world.answer(.success, .configuration(ManagementWorld.kernelConfiguration))
        #expect(world.commands == [.setConfiguration(ScanConfiguration([.window: 0x60]))])
        world.answer()
        #expect(world.commands == [.addMonitor(.beacons)])
        world.answer(.success, .handle(1))
        #expect(!world.isListening)
        #expect(world.report())
        #expect(
            world.reported.suffix(2) == [
                .listening(adapter: 0, reason: "it scans for advertisement monitor 1"), .obstacles([]),
            ])
    }

    @Test func `a scan for a part of the time sets window and interval, and is reported as thinned`() {
        var options = ManagementOptions()
        options.timing = ScanTiming(interval: 960, window: 96)
        let world = ManagementWorld(options)
        world.answer(.success, .indexes([0]))
        world.answer(.success, ManagementWorld.information())
        world.answer(.success, .features(MonitorFeatures(isOffloaded: false, handlesMax: 32, handles: [])))
        world.answer(.success, .configuration(ManagementWorld.kernelConfiguration))
        #expect(world.commands == [.setConfiguration(ScanConfiguration([.interval: 960, .window: 96]))])
        world.answer()
        world.answer(.success, .handle(1))
        #expect(world.report())
        #expect(world.reported.last == .obstacles([.thinned]))
    }

    @Test func `a newly plugged-in adapter cannot be discovering, so it is listening once it has the monitor`() {
        let world = ManagementWorld()
        world.answer(.success, .indexes([]))
        #expect(world.reported == [.obstacles([.unavailable])])
        world.receive(.indexAdded)
        world.settle()
        #expect(world.isListening)
    }

    @Test func `reports of another program's discovery are not delivered until its end is reported`() {
        let world = ManagementWorld()
        world.settle()
        #expect(!world.report(isMonitors: false))
        #expect(world.session.reportsEarly == 1)
        world.receive(.discovering(true))
        #expect(!world.report(isMonitors: false))
        world.receive(.discovering(false))
        #expect(world.isListening)
        #expect(world.report(isMonitors: false))
    }

    @Test func `if no end of a discovery is reported, listening starts after 10.5 s, not 1 ns earlier`() {
        let world = ManagementWorld()
        world.settle()
        let begin = world.now
        world.advance(to: begin + .milliseconds(10_500) - .nanoseconds(1))
        #expect(!world.isListening)
        #expect(world.session.nextDeadline == begin + .milliseconds(10_500))
        world.advance(to: begin + .milliseconds(10_500))
        #expect(world.isListening)
    }

    @Test func `a discovery that starts while the adapter is listening changes nothing`() {
        let world = ManagementWorld.listening()
        world.receive(.discovering(true))
        #expect(world.report(isMonitors: false))
        world.receive(.discovering(false))
        #expect(world.reported == [])
    }

    @Test func `a discovery reported less than 1 s after the monitor delays listening, unless a report came`() {
        for (lag, isHeld) in [(Duration.seconds(1) - .nanoseconds(1), true), (.seconds(1), false)] {
            let world = ManagementWorld()
            world.answer(.success, .indexes([]))
            world.receive(.indexAdded)
            world.settle()
            #expect(world.isListening)
            world.advance(by: lag)
            world.receive(.discovering(true))
            #expect(world.isListening != isHeld)
            world.receive(.discovering(false))
            #expect(world.isListening)
        }
        let world = ManagementWorld()
        world.answer(.success, .indexes([]))
        world.receive(.indexAdded)
        world.settle()
        _ = world.report()
        world.receive(.discovering(true))
        #expect(world.isListening)
    }

    // MARK: Failures

    @Test func `if another program switches power off and on, the monitor stays, and the adapter listens again`() {
        let world = ManagementWorld.listening()
        world.advance(by: .seconds(1))
        world.receive(.settings([.lowEnergy]))
        #expect(
            world.reported == [
                .stopped(adapter: 0, since: world.now, reason: "it was switched off"), .obstacles([.waiting]),
            ])
        #expect(!world.report())
        world.reported = []
        world.advance(by: .seconds(1))
        world.receive(.settings([.lowEnergy, .powered]))
        #expect(world.reported.first == .listening(adapter: 0, reason: "it scans for advertisement monitor 1"))
        #expect(world.commands == [])
    }

    @Test func `an adapter that another program switched off is switched on after 5 s, not 1 ns earlier`() {
        let world = ManagementWorld.listening()
        world.receive(.settings([.lowEnergy]))
        let off = world.now
        world.advance(to: off + .seconds(5) - .nanoseconds(1))
        #expect(world.commands == [])
        world.advance(to: off + .seconds(5))
        #expect(world.commands == [.setPowered(true)])
        world.answer(.success, .settings([.powered, .lowEnergy]))
        #expect(world.isListening)
    }

    @Test func `an adapter that another program switched off stays off if it must not be switched on`() {
        var options = ManagementOptions()
        options.powersAdapters = false
        let world = ManagementWorld.listening(options)
        world.receive(.settings([.lowEnergy]))
        world.advance(by: .seconds(3600))
        #expect(world.commands == [])
        #expect(world.session.nextDeadline == nil)
        #expect(world.reported.last == .obstacles([.waiting]))
    }

    @Test func `if rfkill blocks, its kind is reported and nothing is sent until 1 s after the block's end`() throws {
        let world = ManagementWorld.listening()
        var rfkill = RFKillState()
        _ = rfkill.received(HCITest.bytes("0100000002020100").span) { _ in "hci0" }
        world.session.received(rfkill, at: world.now)
        world.collect()
        world.receive(.settings([.lowEnergy]))
        #expect(
            world.reported == [
                .stopped(adapter: 0, since: world.now, reason: "rfkill blocks it"), .obstacles([.blocked]),
            ])
        world.advance(by: .seconds(600))
        #expect(world.commands == [])
        #expect(world.session.nextDeadline == nil)
        _ = rfkill.received(HCITest.bytes("0100000002020001").span) { _ in "hci0" }
        world.session.received(rfkill, at: world.now)
        world.collect()
        #expect(world.reported.last == .obstacles([.blockedByHardware]))
        _ = rfkill.received(HCITest.bytes("0100000002020000").span) { _ in "hci0" }
        world.session.received(rfkill, at: world.now)
        world.collect()
        #expect(world.reported.last == .obstacles([.waiting]))
        let unblocked = world.now
        world.advance(to: unblocked + .seconds(1) - .nanoseconds(1))
        #expect(world.commands == [])
        world.advance(to: unblocked + .seconds(1))
        #expect(world.commands == [.setPowered(true)])
        world.answer(.success, .settings([.powered, .lowEnergy]))
        #expect(world.isListening)
    }

    @Test func `an adapter that is off for 0.1 s after a hardware error listens again without a command`() {
        let world = ManagementWorld.listening()
        world.receive(.settings([.lowEnergy]))
        world.advance(by: .milliseconds(100))
        world.receive(.settings([.lowEnergy, .powered]))
        #expect(world.isListening)
        #expect(world.commands == [])
    }

    @Test func `if a bluetoothd that starts removes all monitors, another one is added at once`() {
        let world = ManagementWorld.listening()
        world.receive(.monitorRemoved(0))
        #expect(
            world.reported.first
                == .stopped(
                    adapter: 0, since: world.now, reason: "all monitors were removed, because a bluetoothd starts"))
        #expect(world.records == 1)
        // The bluetoothd may have changed the scan window.
        #expect(world.commands == [.readConfiguration])
        world.settle()
        #expect(world.session.adapters[0].monitor == 1)
        #expect(world.report())
        #expect(world.isListening)
    }

    @Test func `if a bluetoothd starts while the adapter is off, the monitor is added when the power is on`() {
        let world = ManagementWorld.listening()
        world.receive(.settings([.lowEnergy]))
        world.receive(.monitorRemoved(0))
        world.settle()
        #expect(world.session.adapters[0].monitor == nil)
        world.receive(.settings([.lowEnergy, .powered]))
        #expect(world.commands == [.addMonitor(.beacons)])
    }

    @Test func `if another client's monitor is removed, nothing changes; if the own one is, it is added again`() {
        let world = ManagementWorld.listening()
        world.receive(.monitorRemoved(2))
        #expect(world.reported == [])
        world.receive(.monitorRemoved(1))
        #expect(world.commands == [.addMonitor(.beacons)])
        #expect(
            world.reported.first
                == .stopped(adapter: 0, since: world.now, reason: "another program removed its monitor"))
    }

    @Test func `an unplugged adapter stops and disappears; plugged in, its complete state is requested again`() {
        let world = ManagementWorld.listening()
        world.receive(.settings([.lowEnergy]))
        world.receive(.indexRemoved)
        #expect(
            world.reported == [
                .stopped(adapter: 0, since: world.now, reason: "it was switched off"), .obstacles([.waiting]),
                .disappeared(adapter: 0), .obstacles([.unavailable]),
            ])
        world.reported = []
        world.receive(.indexAdded)
        // bluetoothd removes all monitors and switches the adapter on while the state is being requested.
        world.receive(.monitorRemoved(0))
        world.receive(.settings([.lowEnergy]))
        world.receive(.settings([.lowEnergy, .powered]))
        world.settle()
        #expect(world.isListening)
        #expect(world.reported.contains { if case .appeared(0, _, _) = $0 { true } else { false } })
    }

    @Test func `without bluetoothd, a dual-mode controller gets Low Energy, power after 1 s, then the monitor`() {
        let world = ManagementWorld()
        world.answer(.success, .indexes([0]))
        world.answer(.success, ManagementWorld.information(current: []))
        world.answer(.success, .features(MonitorFeatures(isOffloaded: false, handlesMax: 32, handles: [])))
        world.answer(.success, .configuration(ManagementWorld.kernelConfiguration))
        world.answer()
        #expect(world.commands == [.setLowEnergy])
        world.answer(.success, .settings([.lowEnergy]))
        #expect(world.commands == [])
        #expect(world.session.nextDeadline == world.now + .seconds(1))
        world.advance(by: .seconds(1))
        #expect(world.commands == [.setPowered(true)])
        world.answer(.success, .settings([.lowEnergy, .powered]))
        #expect(world.commands == [.addMonitor(.beacons)])
    }

    @Test func `a command that fails is repeated after 0.1 s, then ever later, at most 5 s`() {
        let world = ManagementWorld()
        world.answer(.success, .indexes([0]))
        var waits: [Duration] = []
        for _ in 0..<9 {
            let failed = world.now
            world.answer(.busy)
            #expect(world.commands == [])
            world.advanceToDeadline()
            waits.append(world.now - failed)
            #expect(world.commands == [.readInformation])
        }
        #expect(waits == [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000].map { .milliseconds($0) })
    }

    @Test func `a command without an answer counts as failed after 20 s, and is repeated`() {
        let world = ManagementWorld()
        world.answer(.success, .indexes([0]))
        #expect(world.session.nextDeadline == world.now + .seconds(20))
        world.open = []
        world.advance(by: .seconds(20))
        #expect(world.commands == [])
        world.advanceToDeadline()
        #expect(world.commands == [.readInformation])
    }

    @Test func `a monitor that was added after its command counted as failed is surplus, and is removed`() {
        let world = ManagementWorld.listening()
        world.receive(.reply(opcode: 0x52, status: .success, result: .handle(7)))
        #expect(world.commands == [.removeMonitor(7)])
        world.answer(.success)
        #expect(world.isListening)
        #expect(world.reported == [])
    }

    @Test func `a power change is accepted from the answer to a command that counted as failed`() {
        let world = ManagementWorld.listening()
        world.receive(.reply(opcode: 0x05, status: .success, result: .settings([.lowEnergy])))
        #expect(!world.isListening)
    }

    @Test func `the backend ends if the kernel does not support monitors or refuses them, not if a command fails`() {
        for (status, kind) in [
            (ManagementStatus.unknownCommand, ScannerError.Kind.unavailable), (.permissionDenied, .denied),
        ] {
            var world = ManagementWorld()
            world.answer(.success, .indexes([0]))
            for _ in 0..<3 { world.answer(.failed); world.advanceToDeadline() }
            #expect(!world.reported.contains { if case .ended = $0 { true } else { false } })
            world = ManagementWorld()
            world.answer(.success, .indexes([0]))
            world.answer(.success, ManagementWorld.information())
            world.answer(.success, .features(MonitorFeatures(isOffloaded: false, handlesMax: 32, handles: [])))
            world.answer(.unknownCommand)
            #expect(world.commands == [.addMonitor(.beacons)])
            world.answer(status)
            #expect(world.reported.contains { if case .ended(let error) = $0 { error.kind == kind } else { false } })
        }
    }

    @Test func `if the kernel has no scan settings, half of the time is missed and thinned is reported`() {
        let world = ManagementWorld()
        world.answer(.success, .indexes([0]))
        world.answer(.success, ManagementWorld.information())
        world.answer(.success, .features(MonitorFeatures(isOffloaded: false, handlesMax: 32, handles: [])))
        world.answer(.unknownCommand)
        world.answer(.success, .handle(1))
        _ = world.report()
        #expect(world.reported.last == .obstacles([.thinned]))
    }

    @Test func `an adapter without Low Energy counts as missing and gets no command`() {
        let world = ManagementWorld()
        world.answer(.success, .indexes([0]))
        world.answer(.success, ManagementWorld.information(current: [.powered], supported: [.powered]))
        #expect(world.commands == [])
        #expect(world.reported.last == .obstacles([.unavailable]))
        #expect(world.session.nextDeadline == nil)
    }

    @Test func `L6: an adapter is not listening while the machine is suspended`() {
        let world = ManagementWorld.listening()
        world.receive(.suspended(state: 0))
        #expect(world.isListening)
        world.receive(.suspended(state: 2))
        #expect(!world.isListening)
        world.receive(.resumed)
        #expect(world.isListening)
    }

    // MARK: Several adapters, and selected ones

    @Test func `two adapters are independent; if one is listening, the state of the other is not an obstacle`() {
        let world = ManagementWorld()
        world.answer(.success, .indexes([0, 1]))
        #expect(world.open.map(\.index) == [0, 1])
        world.answer(.success, ManagementWorld.information())
        world.answer(.success, ManagementWorld.information(address: 0x11, current: [.lowEnergy]))
        world.receive(.settings([.lowEnergy, .powered]), of: 0)
        while let place = world.open.firstIndex(where: { $0.index == 0 }) {
            let (command, index) = world.open.remove(at: place)
            let result: ManagementEvent.Result =
                command.opcode == 0x52
                ? .handle(1)
                : command.opcode == 0x51
                    ? .features(MonitorFeatures(isOffloaded: false, handlesMax: 32, handles: []))
                    : command.opcode == 0x4B ? .configuration(ManagementWorld.kernelConfiguration) : .none
            world.receive(.reply(opcode: command.opcode, status: .success, result: result), of: index)
        }
        #expect(world.report(of: 0))
        #expect(!world.report(of: 1))
        #expect(world.reported.last == .obstacles([]))
    }

    @Test func `adapters that are not selected are left alone`() {
        var options = ManagementOptions()
        options.adapters = AdapterSelection(numbers: [1])
        let world = ManagementWorld(options)
        world.answer(.success, .indexes([0, 1]))
        #expect(world.open.map(\.index) == [1])
        world.receive(.indexAdded, of: 2)
        #expect(world.session.adapters.map(\.index) == [1])
        #expect(!world.report(of: 0))
    }

    @Test func `at most 64 adapters are used; further ones are counted`() {
        let world = ManagementWorld()
        world.answer(.success, .indexes(Array(0..<65)))
        #expect(world.session.adapters.count == 64)
        #expect(world.session.adaptersRefused == 1)
    }
}
