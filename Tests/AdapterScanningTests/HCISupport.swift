import BaseTypes
import Foundation
import TestSupport

@testable import AdapterScanning

/// Helpers for the tests of the management socket and the raw channel.
enum HCITest {
    /// Returns the bytes of hexadecimal digits. Spaces are ignored.
    static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.filter { !$0.isWhitespace }.map { UInt8($0.hexDigitValue!) }
        precondition(digits.count.isMultiple(of: 2))
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    static func hex(_ bytes: some Sequence<UInt8>) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

    struct Line: Decodable {
        var t: Double
        var note: String?
        var sent: String?
        var received: String?
    }

    /// Returns the lines of a fixture.
    static func fixture(_ name: String) throws -> [Line] {
        let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Fixtures/hci")
        let text = try String(contentsOf: directory.appending(path: name), encoding: .utf8)
        return try text.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    /// Returns the lines after a note, up to the next note.
    static func part(_ note: String, of name: String) throws -> [Line] {
        let lines = try fixture(name)
        let begin = lines.firstIndex { $0.note == note }!
        return Array(lines[(begin + 1)...].prefix { $0.note == nil })
    }

    /// Returns the bytes after one to six random mutations: changed, cut off, removed or repeated bytes.
    static func mutate(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...6, using: &generator) where !bytes.isEmpty {
            let index = bytes.indices.randomElement(using: &generator) ?? 0
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: bytes[index] = .random(in: 0...255, using: &generator)
            case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 2: bytes[index] = [0x00, 0x01, 0x7F, 0xFE, 0xFF].randomElement(using: &generator) ?? 0
            case 3: bytes.removeSubrange(index...)
            case 4: bytes.remove(at: index)
            default: bytes.insert(contentsOf: bytes[index...].prefix(40), at: index)
            }
        }
        return bytes
    }
}

extension Instant {
    /// Returns the time this many seconds after the start of the timeline.
    static func second(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }
}

/// The kernel's side of the management socket. It stores the commands of the session, and passes messages from the test
/// to the session.
final class ManagementFixture {
    var session: ManagementSession
    var now: Instant = .second(100)
    /// The commands that have no answer yet, in order.
    var open: [(command: ManagementCommand, index: UInt16)] = []
    var reported: [ScanChange] = []
    var records = 0

    init(
        _ options: ManagementOptions = ManagementOptions(), purpose: ManagementPurpose = .monitoring,
        inherited: [AdapterChanges] = []
    ) {
        session = ManagementSession(options: options, purpose: purpose, inherited: inherited)
        session.start(at: now)
        collect()
    }

    static func information(
        address: UInt64 = 0x00AA_0100_0042, current: ControllerSettings = [.powered, .lowEnergy],
        supported: ControllerSettings = [.powered, .lowEnergy]
    ) -> ManagementEvent.Result {
        .information(
            ControllerInformation(
                address: address, version: 8, manufacturer: 1521, supported: supported, current: current))
    }

    static let kernelConfiguration = ScanConfiguration([.interval: 0x60, .window: 0x30, .interleaving: 0])

    func collect() {
        for action in session.takeActions() {
            switch action {
            case .send(let command, let index): open.append((command, index))
            case .report(let change): reported.append(change)
            case .record: records += 1
            }
        }
    }

    func receive(_ event: ManagementEvent, of index: UInt16 = 0) {
        session.received(ManagementMessage(index: index, event: event), at: now)
        collect()
    }

    /// Answers the oldest command that has no answer yet.
    func answer(_ status: ManagementStatus = .success, _ result: ManagementEvent.Result = .none) {
        let (command, index) = open.removeFirst()
        receive(.reply(opcode: command.opcode, status: status, result: result), of: index)
    }

    func advance(to time: Instant) {
        now = time
        session.advance(to: now)
        collect()
    }

    func advance(by duration: Duration) { advance(to: now + duration) }

    /// Advances the time to the next deadline, if there is one.
    func advanceToDeadline() {
        if let deadline = session.nextDeadline { advance(to: deadline) }
    }

    /// Passes a report to the session. Returns whether the session delivers it.
    func report(of index: UInt16 = 0, isMonitors: Bool = true) -> Bool {
        let isReceived = session.received(index, isMonitors: isMonitors, at: now)
        collect()
        return isReceived
    }

    /// Answers all commands as a kernel without errors does, until none is left. Set Powered and Set Low Energy change
    /// the settings.
    func settle(
        information: ManagementEvent.Result = ManagementFixture.information(), handles: [UInt16] = [],
        isOffloaded: Bool = false, handle: UInt16 = 1,
        configuration: ScanConfiguration = ManagementFixture.kernelConfiguration
    ) {
        var settings: ControllerSettings = []
        if case .information(let known) = information { settings = known.current }
        var handle = handle
        for _ in 0..<100 {
            guard let (command, _) = open.first else { return }
            switch command {
            case .readIndexList: answer(.success, .indexes([0]))
            case .readInformation: answer(.success, information)
            case .readMonitorFeatures:
                answer(
                    .success,
                    .features(MonitorFeatures(isOffloaded: isOffloaded, handlesMax: 32, handles: handles)))
            case .readConfiguration: answer(.success, .configuration(configuration))
            case .addMonitor:
                answer(.success, .handle(handle))
                handle += 1
            case .setPowered(let isOn):
                if isOn { settings.insert(.powered) } else { settings.remove(.powered) }
                answer(.success, .settings(settings))
            case .setLowEnergy:
                settings.insert(.lowEnergy)
                answer(.success, .settings(settings))
            case .setConfiguration, .removeMonitor, .readSupportedCommands: answer()
            }
        }
    }

    /// Returns a session whose adapter is listening: the first report of the passive scan was received.
    static func listening(
        _ options: ManagementOptions = ManagementOptions(), isOffloaded: Bool = false
    ) -> ManagementFixture {
        let fixture = ManagementFixture(options)
        fixture.settle(isOffloaded: isOffloaded)
        _ = fixture.report()
        fixture.reported = []
        fixture.records = 0
        return fixture
    }

    var isListening: Bool { session.adapters.contains(where: \.isListening) }
    var commands: [ManagementCommand] { open.map(\.command) }
}
