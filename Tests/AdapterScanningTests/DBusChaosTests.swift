import BaseTypes
import Foundation
import TestSupport
import Testing

@testable import AdapterScanning

/// The session with random events in random order. `BEACON_ROUNDS` sets the number of runs, `BEACON_SEED` the seed of
/// the first.
@Suite struct DBusChaosTests {
    static let errors = [
        "org.bluez.Error.InProgress", "org.bluez.Error.NotReady", "org.bluez.Error.Failed", "org.bluez.Error.Busy",
        "org.bluez.Error.AlreadyExists", "org.freedesktop.DBus.Error.AccessDenied",
        "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.UnknownObject",
    ]

    /// A session, its requests that were not answered yet, the state that it reported, and the contradictions that were
    /// found.
    struct Fixture {
        var session: DBusSession
        var now = Instant(nanoseconds: 1_000_000_000_000)
        var open: [DBusRequest] = []
        var dice: SeededGenerator
        var listening: Set<Int> = []
        var present: Set<Int> = []
        var isConnected = false
        var wrong: [String] = []

        mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &dice) == 0 }

        mutating func feed(_ body: (inout DBusSession, Instant, inout [DBusAction]) -> Void) {
            var actions: [DBusAction] = []
            body(&session, now, &actions)
            for action in actions { take(action) }
            for (index, adapter) in session.adapters {
                if adapter.isListening, !adapter.isPowered || !adapter.isThere {
                    wrong.append("hci\(index) is listening while it is off")
                }
                if adapter.isListening != listening.contains(index) {
                    wrong.append("hci\(index) is listening or not, unlike its last change")
                }
            }
        }

        private mutating func take(_ action: DBusAction) {
            switch action {
            case .call(let request):
                if !isConnected { wrong.append("a request was sent without a connection") }
                open.append(request)
            case .change(.appeared(let adapter, _, _)):
                if !present.insert(adapter).inserted { wrong.append("appeared twice") }
            case .change(.disappeared(let adapter)):
                if present.remove(adapter) == nil { wrong.append("disappeared twice") }
                if listening.contains(adapter) { wrong.append("disappeared while it scanned") }
            case .change(.listening(let adapter, _)):
                if !listening.insert(adapter).inserted { wrong.append("started twice") }
                if !present.contains(adapter) { wrong.append("scans although it is absent") }
            case .change(.stopped(let adapter, let since, _)):
                if listening.remove(adapter) == nil { wrong.append("stopped twice") }
                if since > now { wrong.append("stopped in the future") }
            case .change, .received: break
            case .connect:
                isConnected = true
                open.removeAll()
                feed { $0.connected(at: $1, into: &$2) }
            case .disconnect:
                isConnected = false
                open.removeAll()
            }
        }

        mutating func answer(_ request: DBusRequest, failure: String?, adapters: [DBusObject]) {
            if let failure {
                feed { $0.answered(request, failure: BusFailure(name: failure, text: ""), at: $1, into: &$2) }
                return
            }
            switch request {
            case .owner: feed { $0.ownerAnswered(":1.7", at: $1, into: &$2) }
            case .objects(let token): feed { $0.listed(adapters, token: token, at: $1, into: &$2) }
            default: feed { $0.answered(request, failure: nil, at: $1, into: &$2) }
            }
        }

        mutating func adapter() -> DBusObject {
            var object = DBusDesk.adapter(
                Int.random(in: 0..<3, using: &dice), powered: Bool.random(using: &dice),
                monitors: Bool.random(using: &dice))
            object.adapter?.isDiscovering = Bool.random(using: &dice)
            return object
        }

        mutating func something() {
            let index = Int.random(in: 0..<3, using: &dice)
            let key = DBusDeviceKey(adapter: UInt16(index), address: UInt64.random(in: 0..<40, using: &dice))
            let owner = session.owner ?? ":1.7"
            switch Int.random(in: 0..<14, using: &dice) {
            case 0:
                let name = [nil, ":1.7", ":1.8"].randomElement(using: &dice) ?? nil
                feed {
                    $0.received(.ownerChanged(name: "org.bluez", owner: name), from: DBusName.bus, at: $1, into: &$2)
                }
            case 1:
                guard chance(8) else { return }
                isConnected = false
                open.removeAll()
                feed { $0.disconnected(nil, at: $1, into: &$2) }
            case 2:
                let object = adapter()
                feed { $0.received(.added(object), from: owner, at: $1, into: &$2) }
            case 3:
                let interfaces: Set<String> = chance(2) ? [DBusName.adapter] : [DBusName.monitorManager]
                feed { $0.received(.removed(.adapter(index), interfaces: interfaces), from: owner, at: $1, into: &$2) }
            case 4, 5:
                var properties = DBusAdapterProperties()
                if chance(2) { properties.isPowered = chance(2) }
                if chance(2) { properties.isDiscovering = chance(2) }
                feed { $0.received(.adapterChanged(index, properties), from: owner, at: $1, into: &$2) }
            case 6: feed { $0.monitorActivated(index, at: $1, into: &$2) }
            case 7: feed { $0.monitorReleased(index, at: $1, into: &$2) }
            case 8: feed { $0.monitorFound(key, at: $1, into: &$2) }
            case 9:
                let properties = DBusReportTests.said(rssi: -60, data: chance(2) ? [1] : nil)
                feed { $0.received(.deviceChanged(key, properties), from: owner, at: $1, into: &$2) }
            case 10:
                let step = WatchdogStep.allCases.randomElement(using: &dice) ?? .widen
                feed { _ = $0.take(step, on: index, at: $1, into: &$2) }
            case 11:
                feed {
                    $0.received(.removed(.device(key), interfaces: [DBusName.device]), from: owner, at: $1, into: &$2)
                }
            default: pass(.milliseconds(Int.random(in: 1...4000, using: &dice)))
            }
        }

        /// Advances the time and handles each deadline on the way.
        mutating func pass(_ duration: Duration) {
            let end = now + duration
            var rounds = 0
            while let next = session.nextDeadline, next <= end {
                now = max(now, next)
                feed { $0.advance(to: $1, into: &$2) }
                rounds += 1
                if rounds > 1000 {
                    wrong.append("a deadline that never passes")
                    return
                }
            }
            now = end
        }

        /// Simulates a bluetoothd that does everything that is requested, with all three adapters on, until all of them
        /// are listening. If they are not after 200 rounds, this is recorded in `wrong`.
        mutating func settle() {
            for _ in 0..<200 {
                if !isConnected { pass(.seconds(5)) }
                if isConnected, session.owner == nil, open.isEmpty {
                    feed {
                        $0.received(
                            .ownerChanged(name: "org.bluez", owner: ":1.9"), from: DBusName.bus, at: $1, into: &$2)
                    }
                }
                let owner = session.owner ?? ":1.7"
                for index in 0..<3 where session.stage == .ready {
                    if session.adapters[index] == nil {
                        let object = DBusDesk.adapter(index)
                        feed { $0.received(.added(object), from: owner, at: $1, into: &$2) }
                    }
                    var properties = DBusAdapterProperties()
                    properties.isPowered = true
                    properties.isDiscovering = true
                    feed { $0.received(.adapterChanged(index, properties), from: owner, at: $1, into: &$2) }
                }
                let asked = open
                open.removeAll()
                for request in asked {
                    answer(request, failure: nil, adapters: (0..<3).map { DBusDesk.adapter($0) })
                }
                if listening == [0, 1, 2] { return }
                pass(.seconds(5))
            }
            wrong.append("never scanned again: \(session.stage) \(session.adapters.mapValues(\.phase))")
        }
    }

    @Test func `after random events in random order, the reports are consistent and all adapters scan in the end`() {
        for seed in SeededGenerator.seeds(environment("BEACON_ROUNDS", default: 300)) {
            var fixture = Fixture(
                session: DBusSession(options: .init(mayPowerCycle: true, devicesMax: 16)),
                dice: SeededGenerator(state: seed))
            fixture.isConnected = true
            fixture.feed { $0.connected(at: $1, into: &$2) }
            for _ in 0..<300 {
                if !fixture.open.isEmpty, fixture.chance(2) {
                    let request = fixture.open.remove(at: Int.random(in: 0..<fixture.open.count, using: &fixture.dice))
                    let failure = fixture.chance(3) ? Self.errors.randomElement(using: &fixture.dice) : nil
                    let adapters = (0..<Int.random(in: 0..<4, using: &fixture.dice)).map { _ in fixture.adapter() }
                    fixture.answer(request, failure: failure, adapters: adapters)
                } else {
                    fixture.something()
                }
                if !fixture.wrong.isEmpty { break }
            }
            if fixture.wrong.isEmpty { fixture.settle() }
            #expect(fixture.wrong == [], "BEACON_SEED=\(seed)")
            #expect(fixture.session.devices.count <= 16)
            if !fixture.wrong.isEmpty { return }
        }
    }
}
