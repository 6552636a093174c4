import BaseTypes
import Testing

@testable import AdapterScanning

/// A driver that leaves other scans alone. `scan` and `record` have one when they run together with a gateway.
@Suite struct ScanDriverOnlookerTests {
    private final class Side {
        var driver = ScanDriver(adapter: 0, scansActively: false, leavesOthersAlone: true)
        var sent: [HCICommand] = []
        var reported: [ScanChange] = []

        init() { act { $0.update(isOn: true, at: Self.at(0), "", into: &$1) } }

        static func at(_ seconds: Double) -> Instant { Instant(nanoseconds: 100_000_000_000 + Int64(seconds * 1e9)) }

        func act(_ body: (inout ScanDriver, inout [ScanDriver.Action]) -> Void) {
            var actions: [ScanDriver.Action] = []
            body(&driver, &actions)
            for action in actions {
                switch action {
                case .send(let command): sent.append(command)
                case .report(let change): reported.append(change)
                }
            }
        }

        /// Advances the time and answers the commands that are sent then. Parameters are refused if `isScanning`.
        func go(to seconds: Double, isScanning: Bool) {
            act { $0.advance(to: Self.at(seconds), into: &$1) }
            var answered = 0
            while answered < sent.count {
                let command = sent[answered]
                answered += 1
                guard !done.contains(answered) else { continue }
                done.insert(answered)
                var status: UInt8 = 0
                if case .setScanParameters = command { status = isScanning ? 0x0C : 0 }
                let supports: Bool? = command == .readSupportedCommands ? false : nil
                act {
                    $0.completed(
                        command.opcode, status, supportsExtendedScanning: supports, at: Self.at(seconds), into: &$1)
                }
            }
        }
        private var done: Set<Int> = []

        func somebody(_ command: HCICommand, at seconds: Double) {
            act {
                $0.saw(command, at: Self.at(seconds))
                $0.completed(command.opcode, 0, supportsExtendedScanning: nil, at: Self.at(seconds), into: &$1)
            }
        }

        var ends: Int { sent.count { if case .setScanEnable(false, _, _) = $0 { true } else { false } } }
        var begins: Int { sent.count { if case .setScanEnable(true, _, _) = $0 { true } else { false } } }
    }

    private static let narrow = ScanParameters(isActive: false, interval: 0x60, window: 0x30, acceptsAll: false)

    @Test func `if no program scans, the driver starts to scan after 1.5 s, later than a gateway`() {
        let side = Side()
        side.go(to: 1.499, isScanning: false)
        #expect(side.sent.isEmpty)
        side.go(to: 1.5, isScanning: false)
        #expect(side.begins == 1)
        #expect(side.driver.scan == .ours)
    }

    @Test func `a scan whose start was not observed is left alone, and checked again`() {
        let side = Side()
        for second in 0..<120 { side.go(to: Double(second), isScanning: true) }
        #expect(side.ends == 0)
        #expect(side.begins == 0)
        #expect(side.driver.isKeptFromScan)
        // If its end is not observed either, the next check detects it.
        for second in 120..<140 { side.go(to: Double(second), isScanning: false) }
        #expect(side.begins == 1)
        #expect(side.driver.scan == .ours)
    }

    @Test func `a scan that filters is left alone, and the own one starts 1.5 s after it`() {
        let side = Side()
        side.somebody(.setScanParameters(Self.narrow, isExtended: false), at: 0.3)
        side.somebody(.setScanEnable(true, filtersDuplicates: true, isExtended: false), at: 0.3)
        for second in 1..<60 { side.go(to: Double(second), isScanning: true) }
        #expect(side.sent.isEmpty)
        side.somebody(.setScanEnable(false, filtersDuplicates: false, isExtended: false), at: 60)
        side.go(to: 61.499, isScanning: false)
        #expect(side.begins == 0)
        side.go(to: 61.5, isScanning: false)
        #expect(side.begins == 1)
        #expect(side.ends == 0)
    }
}
