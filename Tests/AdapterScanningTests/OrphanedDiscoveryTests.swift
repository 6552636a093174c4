import BaseTypes
import Testing

@testable import AdapterScanning

/// A bluetoothd that was killed while it discovered: the kernel goes on with that, and refuses its successor's discovery.
@Suite struct OrphanedDiscoveryTests {
    static let inProgress = "org.bluez.Error.InProgress"
    static let failed = "org.bluez.Error.Failed"

    /// A session whose bluetoothd was killed and is back after `away`.
    static func restarted(mayPowerCycle: Bool = true, after away: Duration = .seconds(2)) -> DBusDesk {
        let desk = DBusDesk.listening(mayPowerCycle: mayPowerCycle)
        restart(desk, after: away)
        return desk
    }

    /// bluetoothd is killed, and is back after `away`.
    static func restart(_ desk: DBusDesk, after away: Duration = .seconds(2)) {
        desk.owner(nil)
        _ = desk.take()
        desk.wait(away)
        desk.owner(DBusDesk.owner)
        desk.list([DBusDesk.adapter()])
    }

    /// What is asked of the watchdog.
    static func needs(_ desk: DBusDesk) -> [WatchdogStep] {
        desk.actions.compactMap { if case .change(.needs(0, let step, _)) = $0 { step } else { nil } }
    }

    /// Discovery is refused, and there is none to stop.
    static func refuse(_ desk: DBusDesk, start: String = inProgress, stop: String = failed) {
        desk.answer()
        desk.answer(start)
        desk.answer(stop)
    }

    @Test func `the watchdog is asked to switch it off and on at once, and it hears again after that`() {
        let desk = Self.restarted()
        Self.refuse(desk)
        #expect(Self.needs(desk) == [.powerCycle])
        let outcome = desk.session.take(.powerCycle, on: 0, at: desk.now, into: &desk.actions)
        #expect(outcome == .taken)
        desk.adapter(powered: false)
        desk.answer()
        desk.adapter(powered: true)
        desk.answer()
        desk.discover()
        #expect(desk.isListening)
    }

    @Test func `it is asked for each time that discovery is refused, since something may have been in its way`() {
        let desk = Self.restarted()
        for count in 1...4 {
            Self.refuse(desk)
            #expect(Self.needs(desk).count == count)
            desk.wait(.seconds(1))
        }
    }

    @Test func `a bluetoothd that is killed before it obeyed has it asked for again`() {
        let desk = Self.restarted()
        Self.refuse(desk)
        _ = desk.session.take(.powerCycle, on: 0, at: desk.now, into: &desk.actions)
        Self.restart(desk)
        Self.refuse(desk)
        #expect(Self.needs(desk) == [.powerCycle])
    }

    @Test func `a bluetoothd that is killed before it said that it discovers may have begun`() {
        let desk = DBusDesk(mayPowerCycle: true)
        desk.join()
        desk.list([DBusDesk.adapter()])
        desk.answer()
        // StartDiscovery is under way.
        Self.restart(desk)
        Self.refuse(desk)
        #expect(Self.needs(desk) == [.powerCycle])
    }

    @Test func `a connection to the bus that is gone says nothing of bluetoothd`() {
        let desk = DBusDesk.listening(mayPowerCycle: true)
        desk.session.disconnected(nil, at: desk.now, into: &desk.actions)
        desk.wait(.seconds(1))
        desk.join()
        desk.list([DBusDesk.adapter()])
        Self.refuse(desk)
        #expect(Self.needs(desk) == [])
    }

    @Test func `a bluetoothd that is killed before it could discover leaves what its predecessor left`() {
        let desk = Self.restarted()
        Self.restart(desk)
        Self.refuse(desk)
        #expect(Self.needs(desk) == [.powerCycle])
    }

    @Test(arguments: [
        ("org.freedesktop.DBus.Error.NoReply", failed), (inProgress, inProgress),
        (inProgress, "org.freedesktop.DBus.Error.NoReply"), ("org.bluez.Error.Failed", failed),
        (inProgress, "org.bluez.Error.NotAuthorized"),
    ])
    func `a controller that hangs, and a discovery that somebody can stop, are no such thing`(
        start: String, stop: String
    ) {
        let desk = Self.restarted()
        desk.answer()
        desk.answer(start)
        // After any other failure nothing is stopped.
        if start != Self.failed { desk.answer(stop) }
        #expect(Self.needs(desk) == [])
    }

    @Test func `the kernel scans for it for 10.24 s at most; what is refused after that is somebody else's`() {
        for (away, needs) in [(Duration.milliseconds(10_239), [WatchdogStep.powerCycle]), (.milliseconds(10_240), [])] {
            let desk = Self.restarted(after: away)
            Self.refuse(desk)
            #expect(Self.needs(desk) == needs)
        }
    }

    @Test func `a discovery that is refused to a bluetoothd that was there all the time is somebody else's`() {
        let desk = DBusDesk(mayPowerCycle: true)
        desk.join()
        desk.list([DBusDesk.adapter()])
        Self.refuse(desk)
        #expect(Self.needs(desk) == [])
    }

    @Test func `power that was off meanwhile has ended it`() {
        let desk = Self.restarted()
        desk.adapter(powered: false)
        desk.adapter(powered: true)
        Self.refuse(desk)
        #expect(Self.needs(desk) == [])
    }

    @Test
    func `who may not switch power tries again each second, so that it hears soon after the kernel's time is over`()
        throws
    {
        let desk = Self.restarted(mayPowerCycle: false)
        var waits: [Duration] = []
        while waits.count < 20, waits.last ?? .zero <= .seconds(1) {
            Self.refuse(desk)
            #expect(Self.needs(desk) == [])
            let due = try #require(desk.session.nextDeadline)
            waits.append(due - desk.now)
            desk.wait(due - desk.now)
        }
        // Each second up to 10.24 s after bluetoothd went, 2 s of which it was away; then ever more rarely.
        #expect(Array(waits.prefix(4)) == [100, 200, 400, 800].map { .milliseconds($0) })
        #expect(Array(waits.dropFirst(4).dropLast()) == Array(repeating: .seconds(1), count: 7))
        #expect(waits.last == .seconds(5))
    }
}
