import BaseTypes
import BluetoothLE
import EventLoops
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import AdapterScanning

/// A handler that records its calls, in order.
final class Recorder: ScanHandler {
    struct ReceivedReport: Equatable {
        var adapter: Int
        var address: DeviceAddress?
        var rssi: Int8?
        var data: [UInt8]
    }

    var received: [ReceivedReport] = []
    var changes: [ScanChange] = []
    var times: [Instant] = []
    var beacons: [IBeacon] = []
    var onChange: ((ScanChange) -> Void)?
    var onReceived: (() -> Void)?
    private var decoder = ReportDecoder()

    func received(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
        var bytes: [UInt8] = []
        for index in data.indices { bytes.append(data[index]) }
        #expect(report.data == 0..<bytes.count)
        received.append(ReceivedReport(adapter: adapter, address: report.address, rssi: report.rssi?.dBm, data: bytes))
        times.append(time)
        var sink = Sink()
        decoder.hand(report, data, adapter, time, to: &sink)
        beacons += sink.beacons
        onReceived?()
    }

    func changed(_ change: ScanChange, at time: Instant) {
        if case .stopped(_, let since, _) = change { #expect(since <= time) }
        changes.append(change)
        times.append(time)
        onChange?(change)
    }

    private struct Sink: ReportHandler {
        var beacons: [IBeacon] = []
        mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {}
        mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {
            beacons.append(beacon)
        }
    }

    /// The adapters that are listening.
    var listening: Set<Int> {
        changes.reduce(into: []) { set, change in
            if case .listening(let adapter, _) = change { set.insert(adapter) }
            if case .stopped(let adapter, _, _) = change { set.remove(adapter) }
        }
    }

    var obstacles: Set<ScanObstacle>? {
        changes.last { if case .obstacles = $0 { true } else { false } }
            .flatMap { if case .obstacles(let set) = $0 { set } else { nil } }
    }

    func count(_ matches: (ScanChange) -> Bool) -> Int { changes.filter(matches).count }
    var stops: Int { count { if case .stopped = $0 { true } else { false } } }
    var starts: Int { count { if case .listening = $0 { true } else { false } } }
    var appearances: Int { count { if case .appeared = $0 { true } else { false } } }
    var disappearances: Int { count { if case .disappeared = $0 { true } else { false } } }
}

/// A private bus with a mock of bluetoothd, and one event loop that waits for all of it.
final class DBusFixture {
    let loop: EventLoop
    let recorder = Recorder()
    private let bus: PrivateBus
    var address: String { bus.address }
    private var said: [[String: Any]] = []
    private var mock: SpawnedProcess?
    private var watch: EventLoop.Watch?
    private var rest: [UInt8] = []

    static let beacon = "0215F7826DA64FA24E988024BC5B71E0893E00640007C5"
    static let structure: [UInt8] =
        [0x1A, 0xFF, 0x4C, 0x00]
        + stride(from: 0, to: beacon.utf8.count, by: 2).map {
            UInt8(beacon.dropFirst($0).prefix(2), radix: 16) ?? 0
        }

    // `policy`: additional rules of the bus, in the format of dbus-daemon(1). `offset`: the difference between the
    // scanner's time and the machine's.
    init(policy: String = "", startsBus: Bool = true, offset: @escaping () -> Duration = { .zero }) throws {
        loop = try EventLoop { BootClock.now + offset() }
        bus = try PrivateBus(policy: policy, isStarted: startsBus)
    }

    deinit { killMock() }

    func startBus() throws { try bus.start() }
    func killBus() { bus.kill() }

    func startMock(_ adapters: String = #"[{"index":0}]"#) throws {
        let process = try SpawnedProcess(
            PrivateBus.python, [PrivateBus.script("bluez_mock.py"), adapters], environment: bus.environment,
            input: .pipe, output: .pipe)
        mock = process
        rest = []
        let descriptor = FileDescriptor(rawValue: try #require(process.output).fileDescriptor)
        let before = calls.count
        watch = try loop.watch(descriptor, for: .read) { [weak self] _ in self?.readMock(descriptor) }
        try until("the mock is ready") { self.calls.dropFirst(before).contains { $0["ready"] != nil } }
    }

    /// The messages that the mock has printed up to now.
    ///
    /// The mock prints each call before it answers it. The answer can be read in a turn of the loop that started before
    /// both, so this reads all waiting output first.
    var calls: [[String: Any]] {
        while watch != nil, let descriptor = mock?.output?.fileDescriptor {
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, 0) == 1 else { break }
            readMock(FileDescriptor(rawValue: descriptor))
        }
        return said
    }

    private func readMock(_ descriptor: FileDescriptor) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = (try? buffer.withUnsafeMutableBytes { try descriptor.read(into: $0) }) ?? 0
        if count == 0, let watch {
            loop.end(watch)
            self.watch = nil
            return
        }
        rest += buffer[..<count]
        while let end = rest.firstIndex(of: 0x0A) {
            let line = Data(rest[..<end])
            rest.removeSubrange(...end)
            if let object = try? JSONSerialization.jsonObject(with: line) as? [String: Any] { said.append(object) }
        }
    }

    func killMock() {
        if let watch { loop.end(watch) }
        watch = nil
        mock?.end(SIGKILL)
        mock = nil
    }

    /// Sends a command to the mock.
    func send(_ command: String) { mock?.input?.write(Data((command + "\n").utf8)) }

    /// Makes the mock send one report of the beacon.
    func advertise(_ address: String = "C0:00:00:00:00:01", adapter: Int = 0, rssi: Int = -60, more: String = "") {
        send(
            #"{"do":"receive","adapter":\#(adapter),"address":"\#(address)","rssi":\#(rssi),"data":"\#(Self.beacon)"\#(more)}"#
        )
    }

    func scanner(_ configure: (inout DBusScanner.Options) -> Void = { _ in }) -> DBusScanner {
        var options = DBusScanner.Options()
        options.busAddress = address
        configure(&options)
        return DBusScanner(options: options, loop: loop)
    }

    /// Returns a scanner that is listening on adapter 0.
    func listening(_ configure: (inout DBusScanner.Options) -> Void = { _ in }) throws -> DBusScanner {
        let scanner = scanner(configure)
        try scanner.start(recorder)
        try until("hci0 scans") { self.recorder.listening.contains(0) }
        return scanner
    }

    /// Runs the loop until a condition is true; throws after ``untilLimit``.
    func until(_ what: String, _ isSo: () -> Bool) throws {
        try loop.turn(until: what, saw: "\(recorder.changes)", isSo)
    }

    func calls(_ member: String) -> [[String: Any]] { calls.filter { $0["call"] as? String == member } }
    func isDone(_ verb: String) -> Int { calls.filter { $0["done"] as? String == verb }.count }
}
