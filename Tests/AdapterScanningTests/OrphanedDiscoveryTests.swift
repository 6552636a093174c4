import BaseTypes
import Testing

@testable import AdapterScanning

/// A discovery of a bluetoothd that was killed. The kernel continues it for at most 10.24 s, and refuses the
/// discovery of the next bluetoothd meanwhile.
@Suite struct OrphanedDiscoveryTests {
    static let inProgress = "org.bluez.Error.InProgress"
    static let failed = "org.bluez.Error.Failed"

    /// Returns a session whose bluetoothd was killed and is running again after `away`.
    static func restarted(mayPowerCycle: Bool = true, after away: Duration = .seconds(2)) -> DBusDesk {
        let desk = DBusDesk.listening(mayPowerCycle: mayPowerCycle)
        restart(desk, after: away)
        return desk
    }

    /// Kills bluetoothd, and starts it again after `away`.
    static func restart(_ desk: DBusDesk, after away: Duration = .seconds(2)) {
        desk.owner(nil)
        _ = desk.take()
        desk.wait(away)
        desk.owner(DBusDesk.owner)
        desk.list([DBusDesk.adapter()])
    }

    /// Returns the steps that the session requested from the watchdog.
    static func needs(_ desk: DBusDesk) -> [WatchdogStep] {
        desk.actions.compactMap { if case .change(.needs(0, let step, _)) = $0 { step } else { nil } }
    }

    /// Answers the requests of a start: discovery is refused, and there is none to stop.
    static func refuse(_ desk: DBusDesk, start: String = inProgress, stop: String = failed) {
        desk.answer()
        desk.answer(start)
        desk.answer(stop)
    }

    @Test func `a power cycle is requested from the watchdog at once, and the adapter scans again after it`() {
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

    @Test func `the power cycle is requested at each refused start, because the watchdog may have declined it`() {
        let desk = Self.restarted()
        for count in 1...4 {
            Self.refuse(desk)
            #expect(Self.needs(desk).count == count)
            desk.wait(.seconds(1))
        }
    }

    @Test func `if bluetoothd is killed before it has switched the power, the cycle is requested again`() {
        let desk = Self.restarted()
        Self.refuse(desk)
        _ = desk.session.take(.powerCycle, on: 0, at: desk.now, into: &desk.actions)
        Self.restart(desk)
        Self.refuse(desk)
        #expect(Self.needs(desk) == [.powerCycle])
    }

    @Test func `a bluetoothd that is killed before it answers StartDiscovery may have started a discovery`() {
        let desk = DBusDesk(mayPowerCycle: true)
        desk.join()
        desk.list([DBusDesk.adapter()])
        desk.answer()
        // StartDiscovery has no answer yet.
        Self.restart(desk)
        Self.refuse(desk)
        #expect(Self.needs(desk) == [.powerCycle])
    }

    @Test func `a lost connection to the bus does not mean that bluetoothd has ended`() {
        let desk = DBusDesk.listening(mayPowerCycle: true)
        desk.session.disconnected(nil, at: desk.now, into: &desk.actions)
        desk.wait(.seconds(1))
        desk.join()
        desk.list([DBusDesk.adapter()])
        Self.refuse(desk)
        #expect(Self.needs(desk) == [])
    }

    @Test func `if the next bluetoothd is killed before it discovers, the discovery of the first still counts`() {
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
    func `a controller that hangs, or a discovery that can be stopped, is not an orphaned discovery`(
        start: String, stop: String
    ) {
        let desk = Self.restarted()
        desk.answer()
        desk.answer(start)
        // If the start fails with an error other than InProgress or NoReply, discovery is not stopped.
        if start != Self.failed { desk.answer(stop) }
        #expect(Self.needs(desk) == [])
    }

    @Test func `a refusal less than 10.24 s after the kill requests a cycle; a later one has another cause`() {
        for (away, needs) in [(Duration.milliseconds(10_239), [WatchdogStep.powerCycle]), (.milliseconds(10_240), [])] {
            let desk = Self.restarted(after: away)
            Self.refuse(desk)
            #expect(Self.needs(desk) == needs)
        }
    }

    @Test func `if bluetoothd was not restarted, a refused discovery is due to another program`() {
        let desk = DBusDesk(mayPowerCycle: true)
        desk.join()
        desk.list([DBusDesk.adapter()])
        Self.refuse(desk)
        #expect(Self.needs(desk) == [])
    }

    @Test func `switching the power off ends an orphaned discovery`() {
        let desk = Self.restarted()
        desk.adapter(powered: false)
        desk.adapter(powered: true)
        Self.refuse(desk)
        #expect(Self.needs(desk) == [])
    }

    @Test
    func `if power must not be switched, starts are repeated each second until the kernel's time has passed`()
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
        // Each second up to 10.24 s after bluetoothd was killed, 2 s of which it was not running. Then the delays are
        // longer.
        #expect(Array(waits.prefix(4)) == [100, 200, 400, 800].map { .milliseconds($0) })
        #expect(Array(waits.dropFirst(4).dropLast()) == Array(repeating: .seconds(1), count: 7))
        #expect(waits.last == .seconds(5))
    }
}
