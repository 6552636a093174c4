import BluetoothLE
import TestSupport
import Testing

@testable import AdapterScanning

@Suite struct ManagementCommandTests {
    // The bytes as an independent client sent them to a kernel that accepted them, or written out by hand.
    @Test(
        arguments: [
            (.readSupportedCommands, 0xFFFF, "0200ffff0000"), (.readIndexList, 0xFFFF, "0300ffff0000"),
            (.readInformation, 0, "040000000000"), (.readInformation, 7, "040007000000"),
            (.setPowered(true), 0, "05000000010001"), (.setPowered(false), 0, "05000000010000"),
            (.setLowEnergy, 0, "0d000000010001"), (.readConfiguration, 0, "4b0000000000"),
            (.readMonitorFeatures, 0, "510000000000"), (.removeMonitor(1), 0, "53000000 0200 0100"),
            (.removeMonitor(0x1234), 0x0102, "53000201 0200 3412"),
            (
                .setConfiguration(ScanConfiguration([.interval: 0x60, .window: 0x60])), 0,
                "4c0000000a00 1300026000 1400026000"
            ),
            (.setConfiguration(ScanConfiguration([.interleaving: 1])), 0, "4c0000000400 1f000101"),
            (
                .addMonitor(.beacons), 0,
                "520000002300 01 ff 00 04 4c000215 000000000000000000000000000000000000000000000000000000"
            ),
        ] as [(ManagementCommand, UInt16, String)])
    func `a command has the bytes that the kernel accepts`(
        command: ManagementCommand, index: UInt16, expected: String
    ) {
        #expect(HCITest.hex(command.packet(for: index)) == expected.filter { $0 != " " })
    }

    @Test func `five commands are among those that were sent to the kernel in the recording`() throws {
        let sent = Set(try HCITest.fixture("management.jsonl").compactMap(\.sent))
        for command in [.readInformation, .addMonitor(.beacons), .removeMonitor(1), .setPowered(true), .setLowEnergy]
            as [ManagementCommand]
        {
            #expect(sent.contains(HCITest.hex(command.packet(for: 0))))
        }
    }

    @Test func `the monitor on Flags has at most sixteen patterns of one byte each`() {
        let packet = ManagementCommand.addMonitor(.flags).packet(for: 0)
        let count = Int(packet[6])
        #expect(count <= 16)
        #expect(packet.count == 6 + 1 + count * 34)
        for pattern in 0..<count { #expect(Array(packet[(7 + pattern * 34)...].prefix(3)) == [0x01, 0x00, 0x01]) }
    }
}

@Suite struct ManagementMessageTests {
    private func event(_ hex: String) throws -> ManagementEvent {
        try ManagementMessage(HCITest.bytes(hex).span).event
    }

    @Test(
        arguments: [
            ("040003000000", 3, .indexAdded), ("050000000000", 0, .indexRemoved),
            ("060000000400000a0000", 0, .settings([.lowEnergy, ControllerSettings(rawValue: 1 << 11)])),
            ("060000000400010a0000", 0, .settings([.powered, .lowEnergy, ControllerSettings(rawValue: 1 << 11)])),
            ("1300000002000601", 0, .discovering(true)), ("1300000002000600", 0, .discovering(false)),
            ("2c00000002000000", 0, .monitorRemoved(0)), ("2c00000002000200", 0, .monitorRemoved(2)),
            ("2b00000002000200", 0, .other(0x2B)), ("15000000070000000000000000", 0, .other(0x15)),
            ("0300000001000e", 0, .controllerError(0x0E)), ("2d000000010002", 0, .suspended(state: 2)),
            ("2e00000008000000000000000000", 0, .resumed),
            ("0100ffff070003000001000000", 0xFFFF, .reply(opcode: 3, status: .success, result: .indexes([0]))),
            (
                "010000000700050000010a0000", 0,
                .reply(
                    opcode: 5, status: .success, result: .settings(ControllerSettings(rawValue: 0xA01)))
            ),
            ("0100000005005200000100", 0, .reply(opcode: 0x52, status: .success, result: .handle(1))),
            ("020000000300520003", 0, .reply(opcode: 0x52, status: .failed, result: .none)),
            ("02000000030052000f", 0, .reply(opcode: 0x52, status: .notPowered, result: .none)),
            ("01000000050053000d0100", 0, .reply(opcode: 0x53, status: .invalidParameters, result: .none)),
            ("020000000300ff0001", 0, .reply(opcode: 0xFF, status: .unknownCommand, result: .none)),
            ("020007000300040011", 7, .reply(opcode: 4, status: .invalidIndex, result: .none)),
            ("020000000300520014", 0, .reply(opcode: 0x52, status: .permissionDenied, result: .none)),
            (
                "01000000100051000000000000000000002000100000", 0,
                .reply(
                    opcode: 0x51, status: .success,
                    result: .features(MonitorFeatures(isOffloaded: false, handlesMax: 32, handles: [])))
            ),
            (
                "01000000140051000001000000010000002000100200 01000500", 0,
                .reply(
                    opcode: 0x51, status: .success,
                    result: .features(MonitorFeatures(isOffloaded: true, handlesMax: 32, handles: [1, 5])))
            ),
        ] as [(String, UInt16, ManagementEvent)])
    func `a message decodes to its index and its event`(hex: String, index: UInt16, event: ManagementEvent) throws {
        let message = try ManagementMessage(HCITest.bytes(hex).span)
        #expect(message.index == index)
        #expect(message.event == event)
    }

    @Test func `the information of a real kernel has its address, version, manufacturer and settings`() throws {
        let line = try #require(
            try HCITest.fixture("management.jsonl").compactMap(\.received).first { $0.hasPrefix("010000001b010400") })
        guard case .reply(4, .success, .information(let information)) = try event(line) else {
            Issue.record("the answer has no controller information")
            return
        }
        #expect(information.description == "00:AA:01:00:00:42, Bluetooth 4.2, company 1521")
        #expect(information.supported.isSuperset(of: [.powered, .lowEnergy]))
        #expect(information.current.isSuperset(of: [.powered, .lowEnergy]))
    }

    @Test func `the command list of a bound socket shows whether the socket can add monitors`() throws {
        let lists = try HCITest.fixture("management.jsonl").compactMap(\.received).compactMap { line in
            if case .reply(2, .success, .commands(let commands)) = try? event(line) { commands } else { nil }
        }
        #expect(lists.map { $0.contains(ManagementOpcode.setPowered) } == [true, false])
        #expect(lists.map { $0.contains(ManagementOpcode.addMonitor) } == [true, false])
    }

    @Test func `the configuration of a real kernel has the parameters that the scanner changes`() throws {
        let line = try #require(
            try HCITest.fixture("management.jsonl").compactMap(\.received).first { $0.hasPrefix("010000009d004b") })
        guard case .reply(0x4B, .success, .configuration(let configuration)) = try event(line) else {
            Issue.record("the answer has no configuration")
            return
        }
        #expect(configuration == ScanConfiguration([.interval: 0x60, .window: 0x30, .interleaving: 0]))
        #expect(configuration.isThin)
        #expect(ScanConfiguration.wide.changes(to: configuration) == ScanConfiguration([.window: 0x60]))
        #expect(!ScanConfiguration.wide.isThin)
        #expect(ScanConfiguration().isThin)
    }

    @Test(
        arguments: [
            "", "01", "0100000000", "04000000ff00", "010000000000", "0100000002005200", "020000000200ff00",
            "0600000003000000 00", "13000000 0100 06", "2c000000 0100 00", "2d000000 0000",
            "0100ffff060003000002000000", "0100000003 00520000", "0100000010 005100000000000000000000200010 0100",
            "01000000 0600 0400 00 424242",
        ])
    func `a message that is shorter than it declares is an error`(hex: String) {
        #expect(throws: ManagementMessageError.self) { try event(hex) }
    }

    @Test func `each message of a real kernel is an error if it is cut anywhere`() throws {
        var messages = 0
        for line in try HCITest.fixture("management.jsonl").compactMap(\.received) {
            let whole = HCITest.bytes(line)
            guard !ManagementReport.isReport(whole.span) else { continue }
            messages += 1
            _ = try ManagementMessage(whole.span)
            for length in 0..<whole.count {
                #expect(throws: ManagementMessageError.self) { try ManagementMessage(Array(whole[..<length]).span) }
            }
        }
        #expect(messages > 10)
    }

    @Test func `bytes after the declared end of a message are not read`() throws {
        #expect(try event("040003000000 ffff") == .indexAdded)
        #expect(throws: ManagementMessageError.self) { try event("130000000100 06 01") }
    }

    @Test func `mutated messages and reports never trap, and the data of reports stay inside their message`() throws {
        var generator = SeededGenerator(state: SeededGenerator.seed)
        let originals = try HCITest.fixture("management.jsonl").compactMap(\.received).map { HCITest.bytes($0) }
        for _ in 0..<20_000 {
            let mutated = HCITest.mutate(originals.randomElement(using: &generator)!, &generator)
            _ = try? ManagementMessage(mutated.span)
            if ManagementReport.isReport(mutated.span), let report = try? ManagementReport(mutated.span) {
                #expect(report.report.data.upperBound <= mutated.count)
                var structures = ADStructures()
                let data = mutated.span.extracting(report.report.data)
                while case .some = try? structures.next(in: data) {}
            }
        }
    }
}

@Suite struct ManagementReportTests {
    private let beacon =
        "2f0000002e00 0000 0100000000c0 02 c4 04000000 1e00 02010 61aff4c00021511111111222233334444555555555555 0001 0001 c5"

    @Test func `a monitor's report has address, kind, RSSI and data`() throws {
        let bytes = HCITest.bytes(beacon)
        let found = try #require(try ManagementReport(bytes.span))
        #expect(found.index == 0)
        #expect(found.isMonitors)
        #expect(found.report.address == DeviceAddress(0xC000_0000_0001, kind: .random))
        #expect(found.report.rssi == RSSI(dBm: -60))
        #expect(found.report.properties == [])
        #expect(found.report.data == 22..<52)
        var structures = ADStructures()
        let iBeacon = try structures.nextBeacon(in: bytes.span.extracting(found.report.data))
        #expect(iBeacon?.identity.minor == 1)
        #expect(iBeacon?.measuredPower == -59)
    }

    @Test func `a report of a discovery has no handle; an RSSI of 127 is absent; an address can be public`() throws {
        let bytes = HCITest.bytes("120002001600 0300000000c0 01 7f 00000000 0800 0201060409746167")
        let found = try #require(try ManagementReport(bytes.span))
        #expect(found.index == 2)
        #expect(!found.isMonitors)
        #expect(found.report.address == DeviceAddress(0xC000_0000_0003, kind: .public))
        #expect(found.report.rssi == nil)
        #expect(found.report.properties == [.connectable])
        #expect(found.report.data == 20..<28)
    }

    @Test func `a report that a newer kernel flags as a scan response is one`() throws {
        let bytes = HCITest.bytes("120000000e00 0300000000c0 01 c4 20000000 0000")
        #expect(try ManagementReport(bytes.span)?.report.properties == [.scannable, .scanResponse])
    }

    @Test func `the result of a BR/EDR inquiry is not an advertising report`() throws {
        let bytes = HCITest.bytes("120000000e00 0300000000c0 00 c4 00000000 0000")
        #expect(try ManagementReport(bytes.span) == nil)
    }

    @Test func `a report that is cut anywhere, or declares more bytes than its message has, is an error`() throws {
        let whole = HCITest.bytes(beacon)
        for length in 2..<whole.count {
            #expect(throws: ManagementMessageError.self) { try ManagementReport(Array(whole[..<length]).span) }
        }
        var longer = whole
        longer[20] = 0x1F
        #expect(throws: ManagementMessageError.self) { try ManagementReport(longer.span) }
        // The declared length of the data can be shorter than the rest of the message.
        longer[20] = 0x1D
        #expect(try ManagementReport(longer.span)?.report.data == 22..<51)
    }
}
