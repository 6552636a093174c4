import BaseTypes
import Testing

@testable import AdapterScanning

/// A model of a controller on the raw channel. It scans or not, as this or another program commands.
final class Radio {
    var driver: ScanDriver
    var now: Instant = .second(100)
    var sent: [HCICommand] = []
    var reported: [ScanChange] = []
    var isScanning = false
    var isExtended = false

    init(
        isExtended: Bool = false, scansActively: Bool = false, isOn: Bool = true, timing: ScanTiming = .continuous
    ) {
        driver = ScanDriver(adapter: 0, scansActively: scansActively, timing: timing)
        self.isExtended = isExtended
        if isOn { power(true) }
    }

    func power(_ isOn: Bool) {
        isScanning = false
        act { $0.update(isOn: isOn, at: $1, "it was switched off", into: &$2) }
    }

    func act(_ body: (inout ScanDriver, Instant, inout [ScanDriver.Action]) -> Void) {
        var actions: [ScanDriver.Action] = []
        body(&driver, now, &actions)
        for action in actions {
            switch action {
            case .send(let command): sent.append(command)
            case .report(let change): reported.append(change)
            }
        }
    }

    func complete(_ command: HCICommand, _ status: UInt8) {
        let supports: Bool? = command == .readSupportedCommands ? isExtended : nil
        act {
            $0.completed(command.opcode, status, supportsExtendedScanning: supports, at: $1, into: &$2)
        }
    }

    /// Answers a command as a controller does: it refuses parameters while it scans.
    func answer(to command: HCICommand) {
        switch command {
        case .setScanParameters: complete(command, isScanning ? 0x0C : 0)
        case .setScanEnable(let isOn, _, _):
            isScanning = isOn
            complete(command, 0)
        default: complete(command, 0)
        }
    }

    func answerAll() {
        while !sent.isEmpty { answer(to: sent.removeFirst()) }
    }

    /// Processes a command of another program, and its answer.
    func other(_ command: HCICommand) {
        driver.saw(command, at: now)
        answer(to: command)
    }

    func report() -> Bool {
        var isReceived = false
        act { isReceived = $0.received(at: $1, into: &$2) }
        return isReceived
    }

    func advance(by duration: Duration) {
        now = now + duration
        act { $0.advance(to: $1, into: &$2) }
    }

    static let ours = ScanParameters(isActive: false, interval: 0x60, window: 0x60, acceptsAll: true)
    static func begun(isExtended: Bool = false) -> Radio {
        let radio = Radio(isExtended: isExtended)
        radio.advance(by: .milliseconds(300))
        radio.answerAll()
        radio.reported = []
        return radio
    }
    static let discovery = ScanParameters(isActive: true, interval: 0x12, window: 0x12, acceptsAll: true)
    static let background = ScanParameters(isActive: false, interval: 0x60, window: 0x30, acceptsAll: false)
    static let monitor = ScanParameters(isActive: false, interval: 0x60, window: 0x30, acceptsAll: true)

    func others(_ parameters: ScanParameters, filters: Bool) {
        if isScanning { other(.setScanEnable(false, filtersDuplicates: false, isExtended: isExtended)) }
        other(.setScanParameters(parameters, isExtended: isExtended))
        other(.setScanEnable(true, filtersDuplicates: filters, isExtended: isExtended))
    }
}
