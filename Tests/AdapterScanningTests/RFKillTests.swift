import Testing

@testable import AdapterScanning

@Suite struct RFKillTests {
    private func state(_ events: [String], names: [UInt32: String] = [1: "hci0", 2: "hci1", 3: "dell-bluetooth"])
        -> RFKillState
    {
        var state = RFKillState()
        for event in events { _ = state.received(HCITest.bytes(event).span) { names[$0] } }
        return state
    }

    // Index, type, operation, soft, hard: as a kernel wrote them when the device was opened, and at the start and the
    // end of a block.
    @Test func `an adapter's own switch blocks only this adapter, until it is released or removed`() {
        #expect(state(["0100000002000000"]).block(of: 0) == .none)
        let blocked = state(["0100000002000000", "0200000002000000", "0100000002020100"])
        #expect(blocked.block(of: 0) == .soft)
        #expect(blocked.block(of: 1) == .none)
        #expect(blocked.blockOfMachine == .none)
        #expect(state(["0100000002000100", "0100000002020000"]).block(of: 0) == .none)
        #expect(state(["0100000002000100", "0100000002010100"]).block(of: 0) == .none)
    }

    @Test func `a hardware block takes precedence over a software block`() {
        #expect(state(["0100000002000101"]).block(of: 0) == .hard)
        #expect(state(["0100000002000001"]).block(of: 0) == .hard)
    }

    @Test func `a switch that does not belong to an adapter blocks all adapters`() {
        let blocked = state(["0100000002000000", "0300000002000100"])
        #expect(blocked.block(of: 0) == .soft)
        #expect(blocked.block(of: 5) == .soft)
        #expect(blocked.blockOfMachine == .soft)
    }

    @Test(arguments: ["0100000001000100", "0100000002030100", "01000000020001", "", "0100000000000100"])
    func `an event that is not for Bluetooth, not for one switch, or cut off changes nothing`(event: String) {
        var state = RFKillState()
        let isTaken = state.received(HCITest.bytes(event).span) { _ in "hci0" }
        #expect(!isTaken)
        #expect(state == RFKillState())
    }

    @Test func `a longer event of a newer kernel is read as far as it is known`() {
        #expect(state(["010000000200010001"]).block(of: 0) == .soft)
    }

    @Test func `at most 64 switches are stored; further ones are ignored`() {
        var state = RFKillState()
        for index in 0..<65 as Range<UInt8> {
            let event: [UInt8] = [index, 0, 0, 0, 2, 0, 1, 0]
            _ = state.received(event.span) { "hci\($0)" }
        }
        #expect(state.block(of: 63) == .soft)
        #expect(state.block(of: 64) == .none)
    }
}
