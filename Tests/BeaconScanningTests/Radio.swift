import AdapterScanning
import EventLoops
import Synchronization
import SystemPackage

@testable import BeaconScanning

/// A radio that a test controls from any thread: the scanner of one backend, which runs on the scanning thread.
final class Radio: Sendable {
    enum Word: Sendable {
        case change(ScanChange)
        case report(BeaconIdentity?, adapter: Int, count: Int)
        /// A report that is received now, and a second one at a later time. The second one stays in the kernel's buffer
        /// until this is drained.
        case reportAndBuffer(BeaconIdentity, after: Duration)
    }

    private struct State {
        var words: [Word] = []
        /// The reports in a buffer that only `drain()` reads, when their time has come.
        var buffered: [(beacon: BeaconIdentity, time: Instant)] = []
        var starts: [ServiceDemand] = []
        var stops = 0
        var drains = 0
        var watchers: [(isDue: @Sendable (Standing) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    /// The number of starts, stops and drains of the scanner, with the demand of each start.
    struct Standing: Sendable {
        var starts: [ServiceDemand]
        var stops: Int
        var drains: Int
    }

    private let state = Mutex(State())
    private let wake: WakeUp
    /// Why the scanner cannot be started; `nil` if it can.
    let closed: ScannerError?

    init(closed: ScannerError? = nil) throws {
        wake = try WakeUp()
        self.closed = closed
    }

    /// The scanning of a monitor with this radio.
    var scanning: Scanning {
        Scanning.bluetoothd.making { [self] backend, loop, demand throws(ScannerError) in
            LoopScanner(self, backend, on: loop, demand)
        }
    }

    // MARK: Inputs of the test

    func say(_ changes: ScanChange...) { put(changes.map { .change($0) }) }

    func receive(_ beacon: BeaconIdentity?, on adapter: Int = 0, times count: Int = 1) {
        put([.report(beacon, adapter: adapter, count: count)])
    }

    /// Receives the beacon now, and once more after `interval`. The second report wakes no thread, and stays in the
    /// kernel's buffer until that is drained. It is in the buffer when `interval` has passed, however slow the machine
    /// is.
    func receive(_ beacon: BeaconIdentity, andBuffer interval: Duration) {
        put([.reportAndBuffer(beacon, after: interval)])
    }

    func listen(_ adapter: Int = 0) {
        say(
            .appeared(adapter: adapter, controller: "a test's"), .listening(adapter: adapter, reason: "a test says so"))
    }

    private func put(_ words: [Word]) {
        state.withLock { $0.words += words }
        wake.signal()
    }

    /// Returns as soon as the state of the scanner meets the condition.
    func stands(_ isDue: @escaping @Sendable (Standing) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if isDue(Self.standing(state)) { return true }
                state.watchers.append((isDue, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    var standing: Standing { state.withLock { Self.standing($0) } }

    private static func standing(_ state: borrowing State) -> Standing {
        Standing(starts: state.starts, stops: state.stops, drains: state.drains)
    }

    private func note(_ body: (inout State) -> Void) {
        let due = state.withLock { state in
            body(&state)
            let standing = Self.standing(state)
            let due = state.watchers.filter { $0.isDue(standing) }.map(\.continuation)
            state.watchers.removeAll { $0.isDue(standing) }
            return due
        }
        for continuation in due { continuation.resume() }
    }

    /// The scanner, on the thread of its loop.
    private final class LoopScanner: AdvertisingScanner {
        let backend: ScannerBackend
        private let radio: Radio
        private let loop: EventLoop
        private let demand: ServiceDemand
        private var watch: EventLoop.Watch?
        private var handler: (any ScanHandler)?

        init(_ radio: Radio, _ backend: ScannerBackend, on loop: EventLoop, _ demand: ServiceDemand) {
            self.radio = radio
            self.backend = backend
            self.loop = loop
            self.demand = demand
        }

        func start(_ handler: any ScanHandler) throws(ScannerError) {
            if let closed = radio.closed { throw closed }
            self.handler = handler
            watch = try? loop.watch(radio.wake.descriptor, for: .read) { [unowned self] _ in read() }
            radio.note { $0.starts.append(demand) }
        }

        func drain() {
            read()
            let now = loop.now
            let due = radio.state.withLock { state in
                defer { state.buffered.removeAll { $0.time <= now } }
                return state.buffered.filter { $0.time <= now }
            }
            for report in due { self.report(report.beacon, on: 0, at: report.time) }
            radio.note { $0.drains += 1 }
        }

        func take(_ step: WatchdogStep, on adapter: Int) -> WatchdogStep.Outcome { .skipped(reason: "a test's") }

        func stop() {
            if let watch { loop.end(watch) }
            watch = nil
            handler = nil
            radio.note { $0.stops += 1 }
        }

        private func read() {
            radio.wake.clear()
            let words = radio.state.withLock { state in
                defer { state.words = [] }
                return state.words
            }
            for word in words { say(word) }
        }

        private func say(_ word: Word) {
            switch word {
            case .change(let change): handler?.changed(change, at: loop.now)
            case .report(let beacon, let adapter, let count):
                for _ in 0..<count { report(beacon, on: adapter, at: loop.now) }
            case .reportAndBuffer(let beacon, let interval):
                let now = loop.now
                radio.state.withLock { $0.buffered.append((beacon, now + interval)) }
                report(beacon, on: 0, at: now)
            }
        }

        private func report(_ beacon: BeaconIdentity?, on adapter: Int, at time: Instant) {
            var data: [UInt8] = [2, 1, 6]
            if let beacon { data += [26, 0xFF] + IBeacon(identity: beacon, measuredPower: -59).manufacturerData }
            let report = AdvertisingReport(
                address: DeviceAddress(0xC098_E500_0007, kind: .random), rssi: RSSI(dBm: -60), properties: .legacy,
                data: 0..<data.count)
            handler?.received(report, data: data.span, on: adapter, at: time)
        }
    }
}
