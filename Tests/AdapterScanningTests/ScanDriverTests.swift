import BaseTypes
import TestSupport
import Testing

@testable import AdapterScanning

@Suite struct ScanDriverTests {
    @Test(arguments: [false, true])
    func `where nobody scans it sets the parameters and enables, in the commands that the controller has`(
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
        #expect(radio.told == [])
        radio.answer(to: radio.sent.removeFirst())
        #expect(radio.told == [.listening(adapter: 0, reason: "it scans")])
        #expect(!radio.driver.isThinned && radio.driver.nextDeadline == nil)
        #expect(
            radio.driver.ending == .setScanEnable(false, filtersDuplicates: false, isExtended: isExtended))
    }

    @Test func `active where asked for`() {
        #expect(ScanDriver(adapter: 0, scansActively: true).parameters.isActive)
        #expect(!ScanDriver(adapter: 0, scansActively: false).parameters.isActive)
    }

    @Test func `a part of the time where asked for, and that is told as thinned`() {
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

    @Test func `a discovery is left alone; reports are thinned while it filters; afterwards it scans again`() {
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

    @Test func `a discovery that goes on at once, with other parameters, is left alone`() {
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

    @Test func `a scan for known devices alone is replaced, at most every 5 s`() {
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

    @Test func `somebody's monitor hears all, half of the time: it is left alone, and told as thinned`() {
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
    func `a scan that was begun unseen: the first report shows it, its end is seen, or it is replaced after 10.5 s`() {
        let radio = Radio()
        radio.isScanning = true
        radio.advance(by: .milliseconds(300))
        radio.answerAll()
        #expect(radio.driver.scan == .others(nil, filtersDuplicates: nil))
        #expect(!radio.driver.isListening)
        #expect(radio.report())
        #expect(radio.told == [.listening(adapter: 0, reason: "another program scans")])
        #expect(radio.driver.isThinned)
        radio.advance(by: .milliseconds(10_500) - .nanoseconds(1))
        #expect(radio.sent == [])
        radio.advance(by: .nanoseconds(1))
        #expect(radio.sent == [.setScanEnable(false, filtersDuplicates: false, isExtended: false)])
        radio.answerAll()
        #expect(radio.driver.scan == .ours)
    }

    @Test func `a report before anything was asked: the parameters are asked for, and nothing is ended`() {
        let radio = Radio()
        radio.isScanning = true
        #expect(radio.report())
        radio.advance(by: .milliseconds(300))
        while let command = radio.sent.first {
            if case .setScanEnable = command { Issue.record("a scan was ended") }
            radio.answer(to: radio.sent.removeFirst())
        }
        #expect(radio.driver.isListening)
        #expect(radio.isScanning)
    }

    @Test func `switched off and on: it stops, and scans again`() {
        let radio = Radio.begun()
        radio.power(false)
        #expect(radio.told == [.stopped(adapter: 0, since: radio.now, reason: "it was switched off")])
        #expect(!radio.report())
        #expect(radio.driver.nextDeadline == nil)
        radio.power(true)
        radio.advance(by: .milliseconds(300))
        radio.answerAll()
        #expect(radio.driver.isListening)
    }

    @Test func `a controller that somebody resets is told to scan again`() {
        let radio = Radio.begun()
        radio.isScanning = false
        radio.other(.reset)
        #expect(!radio.driver.isListening)
        radio.advance(by: .milliseconds(300))
        radio.answerAll()
        #expect(radio.driver.isListening)
    }

    @Test func `a controller that does not answer is asked again, at most 5 s later`() {
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
    func `what is answered 2 s after somebody's command, for which the kernel waits no longer, is ours`(
        nanoseconds: Int, isOurs: Bool
    ) {
        // The kernel's own end of the scan went to a controller that hung, and was lost there.
        let radio = Radio.begun()
        radio.driver.saw(.setScanEnable(false, filtersDuplicates: false, isExtended: false), at: radio.now)
        let begin = radio.now
        radio.act { $0.restart(at: $1, into: &$2) }
        radio.now = begin + .nanoseconds(nanoseconds)
        radio.answerAll()
        #expect((radio.driver.scan == .ours) == isOurs)
        #expect((radio.driver.ending != nil) == isOurs)
    }

    @Test func `a command that others sent before their last one is answered no more`() {
        let radio = Radio.begun()
        radio.driver.saw(.setScanEnable(false, filtersDuplicates: false, isExtended: false), at: radio.now)
        radio.other(.other(0x0C01))
        radio.act { $0.restart(at: $1, into: &$2) }
        radio.answerAll()
        #expect(radio.driver.scan == .ours)
    }

    @Test func `restartScan ends and begins, also somebody else's scan`() {
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

    @Test func `T5: an adapter lost messages since its last report; whether it scans still is asked`() {
        let radio = Radio.begun()
        radio.advance(by: .seconds(1))
        _ = radio.report()
        let last = radio.now
        radio.advance(by: .seconds(1))
        radio.act { $0.lost(3, at: $1, into: &$2) }
        #expect(radio.told == [.lost(adapter: 0, count: 3, since: last)])
        radio.advance(by: .milliseconds(300))
        #expect(radio.sent == [.setScanParameters(Radio.ours, isExtended: false)])
        radio.answerAll()
        #expect(radio.driver.scan == .ours)
        // Somebody ended it, and that was lost.
        radio.isScanning = false
        radio.act { $0.lost(3, at: $1, into: &$2) }
        radio.advance(by: .milliseconds(300))
        radio.answerAll()
        #expect(radio.isScanning)
        #expect(radio.driver.scan == .ours)
    }

    @Test func `whatever others do, it never traps, and comes to a scan of its own when they are quiet`() {
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
            // Quiet: nobody scans, everything is answered.
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
