import BaseTypes
import Testing

@testable import AdapterScanning

/// The recorded behavior of a real kernel on the raw channel.
@Suite struct ScanDriverKernelTests {
    private func packets(_ note: String) throws -> [HCIPacket] {
        try HCITest.part(note, of: "hci.jsonl").compactMap(\.received)
            .map { HCIPacket(HCITest.bytes($0).span) }
    }

    /// Passes the packets that a socket received to a radio that scans for this program.
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

    @Test func `the controller of a real kernel refuses parameters while it scans`() throws {
        #expect(
            try packets("parameters while it scans").contains(
                .complete(opcode: 0x200B, status: 0x0C, supportsExtendedScanning: nil)))
    }

    @Test func `a discovery of bluetoothd is detected, and left alone`() throws {
        let radio = Radio.begun()
        try see("a discovery begins and ends", radio)
        #expect(radio.driver.scan == .others(Radio.discovery, filtersDuplicates: true))
        #expect(radio.driver.isListening)
        #expect(radio.driver.isThinned)
        #expect(radio.sent == [])
    }

    @Test func `another client's monitor is detected, and the own scan starts after its end`() throws {
        let radio = Radio.begun()
        radio.other(.setScanEnable(false, filtersDuplicates: false, isExtended: false))
        try see("somebody's monitor comes and goes", radio)
        #expect(radio.sent == [])
        #expect(radio.reported.contains(.listening(adapter: 0, reason: "another program scans")))
        #expect(radio.driver.scan == .none)
        radio.isScanning = false
        radio.advance(by: .milliseconds(300))
        radio.answerAll()
        #expect(radio.driver.scan == .ours)
    }

    @Test(arguments: ["hardware error", "off and on"])
    func `if the kernel resets the controller, the own scan ends and is started again`(note: String) throws {
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
