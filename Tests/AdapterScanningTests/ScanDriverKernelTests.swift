import BaseTypes
import Testing

@testable import AdapterScanning

/// What a real kernel was seen to do on the raw channel.
@Suite struct ScanDriverKernelTests {
    private func packets(_ note: String) throws -> [HCIPacket] {
        try HCITest.part(note, of: "hci.jsonl").compactMap(\.received)
            .map { HCIPacket(HCITest.octets($0).span) }
    }

    /// Has a radio that scans for us see what a socket saw.
    private func see(_ note: String, _ radio: Radio) throws {
        for packet in try packets(note) {
            switch packet {
            case .command(let command): radio.driver.saw(command, at: radio.now)
            case .complete(let opcode, let status, let supports):
                radio.act {
                    $0.completed(opcode, status, supportsExtendedScanning: supports, at: $1, into: &$2)
                }
            case .reports: _ = radio.report()
            case .other: break
            }
            radio.now = radio.now + .milliseconds(10)
        }
    }

    @Test func `a kernel's controller refuses parameters while it scans`() throws {
        #expect(
            try packets("parameters while it scans").contains(
                .complete(opcode: 0x200B, status: 0x0C, supportsExtendedScanning: nil)))
    }

    @Test func `bluetoothd's discovery is seen, and left alone`() throws {
        let radio = Radio.begun()
        try see("a discovery begins and ends", radio)
        #expect(radio.driver.scan == .others(Radio.discovery, filtersDuplicates: true))
        #expect(radio.driver.isListening)
        #expect(radio.driver.isThinned)
        #expect(radio.sent == [])
    }

    @Test func `another client's monitor is seen, and its end has ours begin`() throws {
        let radio = Radio.begun()
        radio.other(.setScanEnable(false, filtersDuplicates: false, isExtended: false))
        try see("somebody's monitor comes and goes", radio)
        #expect(radio.sent == [])
        #expect(radio.told.contains(.listening(adapter: 0, reason: "another program scans")))
        #expect(radio.driver.scan == .none)
        radio.isScanning = false
        radio.advance(by: .milliseconds(300))
        radio.answerAll()
        #expect(radio.driver.scan == .ours)
    }

    @Test(arguments: ["hardware error", "off and on"])
    func `the kernel's reset of the controller ends ours, which begins again`(note: String) throws {
        let radio = Radio.begun()
        try see(note, radio)
        #expect(radio.driver.scan == .none)
        #expect(!radio.driver.isListening)
        radio.isScanning = false
        radio.advance(by: .milliseconds(300))
        radio.answerAll()
        #expect(radio.driver.isListening)
    }
}
