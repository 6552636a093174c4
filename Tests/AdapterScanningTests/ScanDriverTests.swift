import BaseTypes
import TestSupport
import Testing

@testable import AdapterScanning

@Suite struct ScanDriverTests {
    @Test(arguments: [false, true])
    func `if no program scans for 0.3 s, the driver sets the parameters and enables with the supported commands`(
        isExtended: Bool
    ) {
        let radio = Radio(isExtended: isExtended)
        #expect(radio.sent == [])
        radio.advance(by: .milliseconds(300) - .nanoseconds(1))
        #expect(radio.sent == [])
        radio.advance(by: .nanoseconds(1))
        #expect(radio.sent == [.readSupportedCommands])
        radio.answer(to: radio.sent.removeFirst())
        #expect(radio.sent == [.setScanParameters(Radio.ours, isExtended: isExtended)])
        radio.answer(to: radio.sent.removeFirst())
        #expect(radio.sent == [.setScanEnable(true, filtersDuplicates: false, isExtended: isExtended)])
        #expect(radio.reported == [])
        radio.answer(to: radio.sent.removeFirst())
        #expect(radio.reported == [.listening(adapter: 0, reason: "it scans")])
        #expect(!radio.driver.isThinned && radio.driver.nextDeadline == nil)
        #expect(
            radio.driver.ending == .setScanEnable(false, filtersDuplicates: false, isExtended: isExtended))
    }

    @Test func `the scan is active if that is requested`() {
        #expect(ScanDriver(adapter: 0, scansActively: true).parameters.isActive)
        #expect(!ScanDriver(adapter: 0, scansActively: false).parameters.isActive)
    }

    @Test func `the driver scans for a part of the time if that is requested, and counts as thinned`() {
        let timing = ScanTiming(interval: 960, window: 96)
        let radio = Radio(timing: timing)
        radio.advance(by: .milliseconds(300))
        radio.answer(to: radio.sent.removeFirst())
        let parameters = ScanParameters(isActive: false, interval: 960, window: 96, acceptsAll: true)
        #expect(radio.sent == [.setScanParameters(parameters, isExtended: false)])
        #expect(!radio.driver.isThinned)
        radio.answerAll()
        #expect(radio.driver.isListening)
        #expect(radio.driver.isThinned)
    }

    @Test func `a discovery is left alone; it counts as thinned while it filters; then the own scan restarts`() {
        let radio = Radio.begun()
        radio.others(Radio.discovery, filters: true)
        #expect(radio.sent == [])
        #expect(radio.driver.isListening)
        #expect(radio.driver.isThinned)
        #expect(radio.driver.ending == nil)
        radio.advance(by: .seconds(60))
        #expect(radio.sent == [])
        radio.other(.setScanEnable(false, filtersDuplicates: false, isExtended: false))
        #expect(!radio.driver.isListening)
        radio.advance(by: .milliseconds(300))
        radio.answerAll()
        #expect(radio.driver.scan == .ours)
        #expect(radio.driver.isListening)
        #expect(!radio.driver.isThinned)
    }

    @Test func `a discovery that restarts after 0.2 s without a filter is left alone, and is not thinned`() {
        let radio = Radio.begun()
        radio.others(Radio.discovery, filters: true)
        radio.other(.setScanEnable(false, filtersDuplicates: false, isExtended: false))
        radio.advance(by: .milliseconds(200))
        radio.others(Radio.discovery, filters: false)
        radio.advance(by: .seconds(10))
        #expect(radio.sent == [])
        #expect(radio.driver.isListening)
        #expect(!radio.driver.isThinned)
    }

    @Test func `a scan for known devices only is replaced, at most every 5 s`() {
        let radio = Radio.begun()
        for _ in 0..<2 {
            radio.others(Radio.background, filters: true)
            #expect(!radio.driver.isListening)
            radio.advance(by: .milliseconds(300))
            if radio.sent.isEmpty { radio.advance(by: .milliseconds(4700)) }
            #expect(radio.sent == [.setScanEnable(false, filtersDuplicates: false, isExtended: false)])
            radio.answerAll()
            #expect(radio.driver.scan == .ours)
            #expect(radio.driver.isListening)
        }
    }

    @Test func `another program's monitor scan is left alone; it is thinned if it receives half of the time`() {
        let radio = Radio.begun()
        radio.others(Radio.monitor, filters: false)
        radio.advance(by: .seconds(60))
        #expect(radio.sent == [])
        #expect(radio.driver.isListening)
        #expect(radio.driver.isThinned)
        var wide = Radio.monitor
        wide.window = 0x60
        radio.others(wide, filters: false)
        #expect(!radio.driver.isThinned)
    }

    @Test
    func `a scan with an unobserved start counts from its first report on, and is replaced after 10.5 s`() {
        let radio = Radio()
        radio.isScanning = true
        radio.advance(by: .milliseconds(300))
        radio.answerAll()
        #expect(radio.driver.scan == .others(nil, filtersDuplicates: nil))
        #expect(!radio.driver.isListening)
        #expect(radio.report())
        #expect(radio.reported == [.listening(adapter: 0, reason: "another program scans")])
        #expect(radio.driver.isThinned)
        radio.advance(by: .milliseconds(10_500) - .nanoseconds(1))
        #expect(radio.sent == [])
        radio.advance(by: .nanoseconds(1))
        #expect(radio.sent == [.setScanEnable(false, filtersDuplicates: false, isExtended: false)])
        radio.answerAll()
        #expect(radio.driver.scan == .ours)
    }

    @Test func `after a report before any command, the driver sets parameters and does not end the scan`() {
        let radio = Radio()
        radio.isScanning = true
        #expect(radio.report())
        radio.advance(by: .milliseconds(300))
        while let command = radio.sent.first {
            if case .setScanEnable = command { Issue.record("Set Scan Enable was sent") }
            radio.answer(to: radio.sent.removeFirst())
        }
        #expect(radio.driver.isListening)
        #expect(radio.isScanning)
    }

    @Test func `the driver stops when the adapter is switched off, and scans again when it is on`() {
        let radio = Radio.begun()
        radio.power(false)
        #expect(radio.reported == [.stopped(adapter: 0, since: radio.now, reason: "it was switched off")])
        #expect(!radio.report())
        #expect(radio.driver.nextDeadline == nil)
        radio.power(true)
        radio.advance(by: .milliseconds(300))
        radio.answerAll()
        #expect(radio.driver.isListening)
    }

    @Test func `if another program resets the controller, the scan is started again`() {
        let radio = Radio.begun()
        radio.isScanning = false
        radio.other(.reset)
        #expect(!radio.driver.isListening)
        radio.advance(by: .milliseconds(300))
        radio.answerAll()
        #expect(radio.driver.isListening)
    }

    @Test func `a command without an answer for 4 s is sent again 0.1 s later, then ever later, at most 5 s`() {
        let radio = Radio()
        radio.advance(by: .milliseconds(300))
        #expect(radio.sent == [.readSupportedCommands])
        var waits: [Duration] = []
        for _ in 0..<8 {
            radio.sent = []
            radio.advance(by: .seconds(4))
            let begin = radio.now
            while radio.sent.isEmpty, let deadline = radio.driver.nextDeadline {
                radio.advance(by: deadline - radio.now)
            }
            waits.append(radio.now - begin)
        }
        #expect(waits == [100, 200, 400, 800, 1600, 3200, 5000, 5000].map { .milliseconds($0) })
    }

    @Test(arguments: [(1_999_999_999, false), (2_000_000_000, true)])
    func `an answer 2 s after another program's command, not 1 ns earlier, belongs to the own command`(
        nanoseconds: Int, isOurs: Bool
    ) {
        // The kernel waits 2 s for an answer (HCI_CMD_TIMEOUT). Its own command to end the scan was lost in a
        // controller that hangs.
        let radio = Radio.begun()
        radio.driver.saw(.setScanEnable(false, filtersDuplicates: false, isExtended: false), at: radio.now)
        let begin = radio.now
        radio.act { $0.restart(at: $1, into: &$2) }
        radio.now = begin + .nanoseconds(nanoseconds)
        radio.answerAll()
        #expect((radio.driver.scan == .ours) == isOurs)
        #expect((radio.driver.ending != nil) == isOurs)
    }

    @Test func `an answer does not belong to a command of others that is older than their last one`() {
        let radio = Radio.begun()
        radio.driver.saw(.setScanEnable(false, filtersDuplicates: false, isExtended: false), at: radio.now)
        radio.other(.other(0x0C01))
        radio.act { $0.restart(at: $1, into: &$2) }
        radio.answerAll()
        #expect(radio.driver.scan == .ours)
    }

    @Test func `restartScan stops and starts the scan, also that of another program`() {
        let radio = Radio.begun()
        radio.act { $0.restart(at: $1, into: &$2) }
        #expect(radio.sent == [.setScanEnable(false, filtersDuplicates: false, isExtended: false)])
        radio.answerAll()
        #expect(radio.driver.scan == .ours)
        radio.others(Radio.discovery, filters: true)
        radio.act { $0.restart(at: $1, into: &$2) }
        radio.answerAll()
        #expect(radio.driver.scan == .ours)
    }

    @Test func `T5: a loss is reported since the last report, and the driver checks whether it still scans`() {
        let radio = Radio.begun()
        radio.advance(by: .seconds(1))
        _ = radio.report()
        let last = radio.now
        radio.advance(by: .seconds(1))
        radio.act { $0.lost(3, at: $1, into: &$2) }
        #expect(radio.reported == [.lost(adapter: 0, count: 3, since: last)])
        radio.advance(by: .milliseconds(300))
        #expect(radio.sent == [.setScanParameters(Radio.ours, isExtended: false)])
        radio.answerAll()
        #expect(radio.driver.scan == .ours)
        // Another program ended the scan, and this message was lost.
        radio.isScanning = false
        radio.act { $0.lost(3, at: $1, into: &$2) }
        radio.advance(by: .milliseconds(300))
        radio.answerAll()
        #expect(radio.isScanning)
        #expect(radio.driver.scan == .ours)
    }

    @Test func `the driver never traps whatever others do, and starts its own scan when they are quiet`() {
        var generator = SeededGenerator(state: SeededGenerator.seed)
        for _ in 0..<300 {
            let radio = Radio(isExtended: .random(using: &generator))
            for _ in 0..<Int.random(in: 0..<60, using: &generator) {
                let parameters = [Radio.discovery, Radio.background, Radio.monitor].randomElement(using: &generator)!
                switch Int.random(in: 0..<12, using: &generator) {
                case 0: radio.power(.random(using: &generator))
                case 1, 2: radio.others(parameters, filters: .random(using: &generator))
                case 3: radio.other(.setScanEnable(false, filtersDuplicates: false, isExtended: radio.isExtended))
                case 4: radio.other(.setScanParameters(parameters, isExtended: radio.isExtended))
                case 5: _ = radio.report()
                case 6: radio.act { $0.lost(1, at: $1, into: &$2) }
                case 7: radio.act { $0.restart(at: $1, into: &$2) }
                case 8: radio.sent = []
                case 9: radio.driver.saw(.reset, at: radio.now)
                default: radio.advance(by: .milliseconds(.random(in: 0...8000, using: &generator)))
                }
                if Bool.random(using: &generator) { radio.answerAll() }
            }
            // Quiet: no other program scans, and each command is answered.
            radio.power(false)
            radio.power(true)
            for _ in 0..<20 {
                radio.advance(by: .seconds(6))
                radio.answerAll()
            }
            #expect(radio.driver.scan == .ours)
            #expect(radio.driver.isListening)
        }
    }
}
