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

    @Test func `a refused session has the reason of the refusal, and authorizationDenied`() async {
        let session = BackgroundActivitySession(reason: "badges", provider: Refusing())
        #expect(session.status == .refused("no: badges"))
        var diagnostics = session.diagnostics.makeAsyncIterator()
        #expect(await diagnostics.next() == .authorizationDenied)
        session.invalidate()
        #expect(await diagnostics.next() == nil)
    }

    @Test func `a loop over the diagnostics ends with the session`() async {
        let machine = Machine()
        var session: BackgroundActivitySession? = BackgroundActivitySession(reason: "a", provider: machine)
        var invalidated = BackgroundActivitySession(reason: "b", provider: machine).diagnostics.makeAsyncIterator()
        #expect(await invalidated.next() == [], "a session that has ended still has its flags")
        #expect(await invalidated.next() == nil)
        guard let diagnostics = session?.diagnostics else { return }
        let (started, continuation) = AsyncStream.makeStream(of: Diagnostics.self)
        async let count = {
            var count = 0
            for await flags in diagnostics {
                count += 1
                continuation.yield(flags)
            }
            return count
        }()
        for await flags in started {
            #expect(flags == [])
            break
        }
        session = nil
        #expect(await count == 1)
        #expect(machine.locks == 0)
    }
}
