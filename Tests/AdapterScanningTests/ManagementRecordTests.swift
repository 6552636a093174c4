import Testing

@testable import AdapterScanning

@Suite struct ManagementRecordTests {
    private let evidence = MachineEvidence(
        boot: "5f0c4a2e-0000-4000-8000-000000000001", owner: ProcessIdentity(number: 812, start: 4711),
        daemons: [ProcessIdentity(number: 655, start: 1490)], inodes: [0: 9127, 1: 9300])
    private let changes = [
        AdapterChanges(
            index: 0, address: 0x00AA_0100_0042, handles: [1, 2],
            previous: ScanConfiguration([.window: 48, .interval: 96])),
        AdapterChanges(index: 1, address: 0x11, handles: [7], previous: ScanConfiguration()),
    ]
    private let text = """
        beacon-gateway-management 1
        boot 5f0c4a2e-0000-4000-8000-000000000001
        owner 812 4711
        daemon 655 1490
        adapter 0 00:AA:01:00:00:42 9127 monitors 1 2 settings 19:96 20:48
        adapter 1 00:00:00:00:00:11 9300 monitors 7 settings

        """

    @Test func `a record is written as lines of words, and reading it gives the same record`() {
        let record = ManagementRecord(evidence: evidence, changes: changes)
        #expect(record.text == text)
        #expect(ManagementRecord(text) == record)
    }

    @Test func `all changes remain if the evidence is the same and their owner has ended`() {
        let record = ManagementRecord(evidence: evidence, changes: changes)
        #expect(record.remaining(in: evidence, ownerIsAlive: false) == changes)
    }

    @Test func `no change remains if its writer runs, the machine was restarted, or another bluetoothd runs`() {
        let record = ManagementRecord(evidence: evidence, changes: changes)
        #expect(record.remaining(in: evidence, ownerIsAlive: true) == [])
        var other = evidence
        other.boot = "another"
        #expect(record.remaining(in: other, ownerIsAlive: false) == [])
        for daemons in [[], [ProcessIdentity(number: 655, start: 1491)], [ProcessIdentity(number: 656, start: 1490)]] {
            other = evidence
            other.daemons = daemons
            #expect(record.remaining(in: other, ownerIsAlive: false) == [])
        }
    }

    @Test func `no change remains on an adapter that was unplugged and plugged in again`() {
        let record = ManagementRecord(evidence: evidence, changes: changes)
        var other = evidence
        other.inodes = [0: 9128, 1: 9300]
        #expect(record.remaining(in: other, ownerIsAlive: false) == [changes[1]])
        other.inodes = [:]
        #expect(record.remaining(in: other, ownerIsAlive: false) == [])
    }

    @Test(
        arguments: [
            ("beacon-gateway-management 1", "beacon-gateway-management 2"), ("boot 5f0c", "boot 5f0c 5f0c"),
            ("owner 812 4711\n", ""), ("owner 812", "owner x"), ("daemon 655 1490", "daemon 655"),
            ("monitors 1 2", "monitors 0"), ("monitors 1 2", "monitors 65536"), ("monitors 1 2", "monitor 1 2"),
            ("19:96", "19"), ("19:96", "21:96"), ("19:96", "19:65536"), ("settings 19:96 20:48", "19:96"),
            ("00:AA:01:00:00:42", "00:AA:01:00:00"), ("adapter 0", "adapter -1"), ("adapter 0", "adaptor 0"),
            ("9127", "x"),
        ])
    func `a record with any invalid part is rejected`(part: String, replacement: String) {
        #expect(text.contains(part))
        #expect(ManagementRecord(text.replacing(part, with: replacement)) == nil)
    }

    @Test func `a record that is cut off is rejected, unless it ends after a complete line`() {
        for length in 0..<text.utf8.count {
            let cut = String(decoding: Array(text.utf8)[..<length], as: UTF8.self)
            // Complete lines can be missing at the end. Those that exist are as they were written.
            if let record = ManagementRecord(cut) {
                #expect(cut.hasSuffix("\n"))
                #expect(changes.starts(with: record.changes))
            }
        }
    }
}

@Suite struct MachineEvidenceTests {
    @Test func `the start of a process is field 22, whatever characters its name has`() {
        let tail = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21"
        #expect(MachineEvidence.start(in: "812 (bluetoothd) " + tail) == 4711)
        #expect(MachineEvidence.start(in: "812 (a) S 1 (b) c) " + tail) == 4711)
        #expect(MachineEvidence.start(in: "812 (x) S 1 2") == nil)
        #expect(MachineEvidence.start(in: "") == nil)
        #expect(MachineEvidence.start(in: ")") == nil)
    }

    @Test func `the evidence of this machine has this process, and is the same when it is collected twice`() throws {
        let first = try #require(MachineEvidence.collect(adapters: [0]))
        #expect(first == MachineEvidence.collect(adapters: [0]))
        #expect(MachineEvidence.identity(of: first.owner.number) == first.owner)
        #expect(first.boot.count == 36)
        #expect(MachineEvidence.identity(of: Int(Int32.max)) == nil)
    }
}
