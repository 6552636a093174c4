import Synchronization
import Testing

@testable import BeaconMonitoring

/// A provider that counts the assertions that are held.
private final class Machine: BackgroundActivityProvider {
    final class Lock: BackgroundActivityAssertion {
        let machine: Machine
        init(_ machine: Machine) {
            self.machine = machine
            machine.held.withLock { $0 += 1 }
        }
        deinit { machine.held.withLock { $0 -= 1 } }
    }

    let held = Mutex(0)
    func begin(reason: String) -> BackgroundActivityGrant { .held(Lock(self)) }
    var locks: Int { held.withLock { $0 } }
}

private struct Refusing: BackgroundActivityProvider {
    func begin(reason: String) -> BackgroundActivityGrant { .refused("no: \(reason)") }
}

@Suite struct BackgroundActivitySessionTests {
    @Test func `a session releases its assertion if it is invalidated or discarded`() {
        let machine = Machine()
        let first = BackgroundActivitySession(reason: "a", provider: machine)
        var second: BackgroundActivitySession? = BackgroundActivitySession(reason: "b", provider: machine)
        #expect(machine.locks == 2)
        #expect(second?.status == .held)
        first.invalidate()
        first.invalidate()
        #expect(machine.locks == 1)
        #expect(first.status == .ended)
        second = nil
        #expect(machine.locks == 0)
    }

    @Test func `a refused session has the reason of the refusal, and authorizationDenied`() {
        let session = BackgroundActivitySession(reason: "badges", provider: Refusing())
        #expect(session.status == .refused("no: badges"))
        #expect(session.diagnostics == .authorizationDenied)
    }
}
