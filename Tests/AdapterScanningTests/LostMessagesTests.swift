import BaseTypes
import BluetoothLE
import EventLoops
import Foundation
import SystemPackage
import Testing

@testable import AdapterScanning

/// The kernel's side of sockets that lose messages. Datagram sockets on the loopback interface drop and count messages
/// as Bluetooth sockets do.
///
/// Both clocks run, and a test can add a time in which the process does not run. The kernel's receive times do not
/// include that time. So later messages of a test seem too old, and count as received when they are read.
private final class LossyKernel {
    /// One connection: the test's end, and the socket of the scanner.
    struct End {
        let descriptor: FileDescriptor
        let socket: BluetoothSocket

        func send(_ message: [UInt8]) { _ = try? descriptor.writeAll(message) }
    }

    private(set) var control: End?
    private(set) var lines: [Int: End] = [:]
    private var stopped = Duration.zero
    private var wallBehind = Duration.zero
    private let timing: ReceiveQueue.Timing
    private let adapters: [UInt8]

    init(adapters: [UInt8], timing: ReceiveQueue.Timing) {
        self.adapters = adapters
        self.timing = timing
    }

    deinit {
        try? control?.descriptor.close()
        for line in lines.values { try? line.descriptor.close() }
    }

    /// Called once, at a later reading of the clock: before it, or after it and before its result is used.
    private var interruption: (left: Int, isBefore: Bool, body: () -> Void)?

    var now: Instant {
        guard let (left, isBefore, body) = interruption else { return BootClock.now + stopped }
        interruption = left > 1 ? (left - 1, isBefore, body) : nil
        let now = BootClock.now + stopped
        guard left == 1 else { return now }
        body()
        return isBefore ? BootClock.now + stopped : now
    }

    func interrupt(_ reading: Int, isBefore: Bool, _ body: @escaping () -> Void) {
        interruption = (reading, isBefore, body)
    }

    /// Advances the timeline without the wall clock, so that receive times become later by this duration.
    func jump(by duration: Duration) {
        stopped += duration
        wallBehind += duration
    }

    /// Adds a time in which the process does not run.
    func stop(for duration: Duration) { stopped += duration }

    var access: KernelAccess {
        var access = KernelAccess()
        access.openControl = { [unowned self] _ throws(Errno) in
            let (socket, end) = try open()
            try? control?.descriptor.close()
            control = end
            // The answer to Read Management Supported Commands: Set Powered, Add Advertisement Patterns Monitor.
            reply(to: 0x0002, of: 0xFFFF, [2, 0, 0, 0, 0x05, 0, 0x52, 0])
            return socket
        }
        access.openLine = { [unowned self] adapter, _ throws(Errno) in
            let (socket, end) = try open()
            try? lines[adapter]?.descriptor.close()
            lines[adapter] = end
            return socket
        }
        access.mayUseRawChannel = { true }
        access.wall = { [unowned self] in BootClock.wall + (stopped - wallBehind).nanoseconds }
        access.lossTiming = timing
        access.rfkill = "/nonexistent/rfkill"
        return access
    }

    private func open() throws(Errno) -> (BluetoothSocket, End) {
        let near = try Self.datagramSocket()
        let far = try Self.datagramSocket()
        try Self.connect(near, to: far)
        try Self.connect(far, to: near)
        let socket = BluetoothSocket(FileDescriptor(rawValue: near), at: now)
        let end = End(descriptor: FileDescriptor(rawValue: far), socket: socket)
        Self.awaitStamps(of: socket, from: end)
        return (socket, end)
    }

    /// Waits until messages have receive times. The first socket that requests them gets them some time later. Until
    /// then, a message has the time at which it is read (Linux: net_enable_timestamp()).
    private static func awaitStamps(of socket: BluetoothSocket, from end: End) {
        var buffer = [UInt8](repeating: 0, count: 8)
        for _ in 0..<100_000 {
            end.send([0])
            let sent = BootClock.wall
            while BootClock.wall <= sent { sched_yield() }
            if case .message(_, let stamp?) = socket.receive(into: &buffer, at: BootClock.now), stamp <= sent { return }
        }
        Issue.record("the kernel gives messages no receive times")
    }

    private static func check(_ result: Int32) throws(Errno) {
        guard result >= 0 else { throw Errno(rawValue: errno) }
    }

    // Creates a socket with receive times and with room for some hundred messages.
    private static func datagramSocket() throws(Errno) -> Int32 {
        let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_INET, kind, 0)
        try check(descriptor)
        var size: Int32 = 1 << 17
        try check(setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size)))
        var isOn: Int32 = 1
        try check(setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, &isOn, socklen_t(MemoryLayout<Int32>.size)))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        try check(
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            })
        return descriptor
    }

    private static func connect(_ descriptor: Int32, to other: Int32) throws(Errno) {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(other, $0, &length) < 0 ? -1 : Glibc.connect(descriptor, $0, length)
            }
        }
        try check(result)
    }

    // MARK: The management socket

    private func event(_ code: UInt16, of index: UInt16, _ parameters: [UInt8]) {
        var message: [UInt8] = []
        message.append16(code)
        message.append16(index)
        message.append16(UInt16(parameters.count))
        control?.send(message + parameters)
    }

    /// Sends Command Complete.
    private func reply(to opcode: UInt16, of index: UInt16, status: UInt8 = 0, _ result: [UInt8]) {
        event(0x0001, of: index, [UInt8(opcode & 0xFF), UInt8(opcode >> 8), status] + result)
    }

    /// Sends New Settings: Low Energy, with the power on or off.
    func power(_ adapter: UInt16, isOn: Bool) { event(0x0006, of: adapter, [isOn ? 1 : 0, 2, 0, 0]) }

    /// Sends Adv Monitor Device Found.
    func report(_ number: Int, of adapter: UInt16) {
        event(0x002F, of: adapter, [1, 0, 1, 2, 3, 4, 5, 6, 1, 0xC5, 0, 0, 0, 0, 4, 0] + Self.data(number))
    }

    /// Answers all commands until the scanner sends no more of them.
    func answer(_ scanner: any AdvertisingScanner) throws {
        let control = try #require(control)
        var buffer = [UInt8](repeating: 0, count: 512)
        for _ in 0..<100 {
            guard let count = try? buffer.withUnsafeMutableBytes({ try control.descriptor.read(into: $0) }), count > 4
            else { return }
            let (opcode, index) = (buffer.span.number16(at: 0)!, buffer.span.number16(at: 2)!)
            switch opcode {
            case 0x0003: reply(to: opcode, of: index, [UInt8(adapters.count), 0] + adapters.flatMap { [$0, 0] })
            case 0x0004:
                let settings: [UInt8] = [1, 2, 0, 0]
                reply(
                    to: opcode, of: index,
                    [UInt8(index + 1), 0, 0, 1, 0xAA, 0, 8, 0xF1, 5] + settings + settings
                        + [UInt8](repeating: 0, count: 263))
            // Read Advertisement Monitor Features, Add Advertisement Patterns Monitor.
            case 0x0051: reply(to: opcode, of: index, [1, 0, 0, 0, 1, 0, 0, 0, 32, 0, 16, 0, 0])
            case 0x0052: reply(to: opcode, of: index, [1, 0])
            case 0x0002: break
            default: reply(to: opcode, of: index, status: 0x01, [])
            }
            scanner.drain()
        }
    }

    /// Answers Remove Advertisement Monitor before the scanner sends it.
    func agree() { reply(to: 0x0053, of: 0, [1, 0]) }

    // MARK: The raw channel

    /// Sends LE Advertising Report.
    func report(_ number: Int, onLineOf adapter: Int) {
        let report: [UInt8] = [0, 0, 1, 2, 3, 4, 5, 6, 4] + Self.data(number) + [0xC5]
        lines[adapter]?.send([0x04, 0x3E, UInt8(report.count + 2), 0x02, 1] + report)
    }

    /// Closes the far end and makes the socket send to it. The kernel refuses that, and the refusal becomes an error of
    /// the socket.
    func hangUp(lineOf adapter: Int) throws {
        let removed = lines.removeValue(forKey: adapter)
        let line = try #require(removed)
        try line.descriptor.close()
        _ = try? line.socket.send([0])
    }

    private static func data(_ number: Int) -> [UInt8] { [3, 0xFF, UInt8(number & 0xFF), UInt8(number >> 8)] }
}

/// A handler that records the reports, losses and stops that a scanner delivers, in order.
private final class HandedOver: ScanHandler {
    enum Item: Equatable {
        case report(Int, adapter: Int)
        case lost(Int, adapter: Int)
        case stopped(adapter: Int)
    }

    var items: [Item] = []
    var times: [Instant] = []
    var since: Instant?
    var onReport: ((Int) -> Void)?
    var onLoss: (() -> Void)?

    func received(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
        let number = Int(data[2]) | Int(data[3]) << 8
        note(.report(number, adapter: adapter), time)
        onReport?(number)
    }

    func changed(_ change: ScanChange, at time: Instant) {
        switch change {
        case .lost(let adapter, let count, let since):
            self.since = since
            note(.lost(count, adapter: adapter), time)
            onLoss?()
        case .stopped(let adapter, _, _): note(.stopped(adapter: adapter), time)
        default: break
        }
    }

    private func note(_ item: Item, _ time: Instant) {
        items.append(item)
        times.append(time)
    }

    func forget() { (items, times) = ([], []) }

    /// The number of items before the first loss; `nil` if there is no loss.
    var beforeLoss: Int? { items.firstIndex { if case .lost = $0 { true } else { false } } }
}

/// The place of a loss among the messages, and the order in which several sockets are read. Both must be exact, because
/// they decide whether an exit is false (rule T5).
@Suite struct LostMessagesTests {
    private let handler = HandedOver()

    // Zero, so that the place of a loss is exact, however fast the test is.
    private static let exact = ReceiveQueue.Timing(lookInterval: .zero, precision: .zero)

    private func management(
        _ timing: ReceiveQueue.Timing = exact
    ) throws -> (LossyKernel, EventLoop, ManagementScanner) {
        let kernel = LossyKernel(adapters: [0], timing: timing)
        let loop = try EventLoop { kernel.now }
        let scanner = ManagementScanner(loop: loop)
        scanner.kernel = kernel.access
        try scanner.start(handler)
        try kernel.answer(scanner)
        kernel.report(0, of: 0)
        scanner.drain()
        #expect(handler.items == [.report(0, adapter: 0)])
        handler.forget()
        return (kernel, loop, scanner)
    }

    // More messages than a buffer has room for.
    private static let sent = 600

    /// Sends reports that are numbered from 1000 on.
    private static func flood(_ send: (Int) -> Void) { for number in 0..<sent { send(1000 + number) } }

    // Runs turns that take 128 messages: a datagram socket makes room when a quarter of its buffer has been read.
    private static func turns(_ loop: EventLoop) throws { for _ in 0..<2 { try loop.turn(waits: false) } }

    @Test func `T5: a loss is reported between the reports before and after it, although it was noticed earlier`()
        throws
    {
        let (kernel, loop, scanner) = try management()
        Self.flood { kernel.report($0, of: 0) }
        let resumed = kernel.now
        try Self.turns(loop)
        #expect(handler.items == (1000..<1128).map { .report($0, adapter: 0) })
        // The turns have made room in the buffer.
        kernel.report(7, of: 0)
        scanner.drain()
        let kept = try #require(handler.beforeLoss)
        #expect(
            handler.items
                == (1000..<1000 + kept).map { .report($0, adapter: 0) } + [
                    .lost(Self.sent - kept, adapter: 0), .report(7, adapter: 0),
                ])
        #expect(kept > 128 && kept < Self.sent)
        #expect(handler.since == handler.times[kept - 1])
        #expect(handler.times[kept] == handler.times[kept - 1])
        #expect(handler.times[kept] < resumed)
        #expect(scanner.statistics.dropped == Self.sent - kept)
    }

    @Test func `T5: a loss that occurs while a turn takes messages is reported at its place too`() throws {
        let (kernel, _, scanner) = try management()
        handler.onReport = { number in
            if number == 2 { Self.flood { kernel.report($0, of: 0) } }
            if number == 1100 { kernel.report(7, of: 0) }
        }
        for number in 1...3 { kernel.report(number, of: 0) }
        scanner.drain()
        let place = try #require(handler.beforeLoss)
        #expect(Array(handler.items.prefix(3)) == [1, 2, 3].map { .report($0, adapter: 0) })
        #expect(handler.items[place - 1] == .report(1000 + place - 4, adapter: 0))
        #expect(handler.items.dropFirst(place) == [.lost(Self.sent - (place - 3), adapter: 0), .report(7, adapter: 0)])
    }

    @Test(arguments: 1...9, [true, false])
    func `T5: wherever the process is stopped, a loss is reported at its place`(reading: Int, isBefore: Bool) throws {
        let (kernel, _, scanner) = try management(ReceiveQueue.Timing(precision: .zero))
        for number in 1...3 { kernel.report(number, of: 0) }
        kernel.interrupt(reading, isBefore: isBefore) {
            Self.flood { kernel.report($0, of: 0) }
            kernel.jump(by: .seconds(30))
        }
        // Sent as soon as the buffer has room.
        handler.onReport = { if $0 == 1100 { kernel.report(7, of: 0) } }
        for _ in 0..<3 { scanner.drain() }
        let place = try #require(handler.beforeLoss)
        #expect(Array(handler.items.prefix(3)) == [1, 2, 3].map { .report($0, adapter: 0) })
        #expect(handler.items[place - 1] == .report(1000 + place - 4, adapter: 0))
        #expect(handler.items.dropFirst(place) == [.lost(Self.sent - (place - 3), adapter: 0), .report(7, adapter: 0)])
        #expect(handler.times[place] == handler.times[place - 1])
    }

    @Test
    func `T5: a loss without a later message is reported when the buffer is empty, with the time of the last report`()
        throws
    {
        let (kernel, _, scanner) = try management(ReceiveQueue.Timing())
        Self.flood { kernel.report($0, of: 0) }
        kernel.stop(for: .seconds(30))
        scanner.drain()
        let kept = try #require(handler.beforeLoss)
        #expect(handler.items.count == kept + 1)
        #expect(handler.times[kept] == handler.times[kept - 1])
        // The next report was not lost.
        kernel.report(7, of: 0)
        scanner.drain()
        #expect(handler.items.last == .report(7, adapter: 0))
        #expect(handler.items.count == kept + 2)
    }

    @Test func `T5: the losses of two stops of the process are reported separately`() throws {
        let (kernel, loop, scanner) = try management()
        Self.flood { kernel.report($0, of: 0) }
        try Self.turns(loop)
        // The process is stopped again before it has read the whole buffer.
        Self.flood { kernel.report($0 + 1000, of: 0) }
        try Self.turns(loop)
        kernel.report(7, of: 0)
        scanner.drain()
        let losses = handler.items.indices.filter { if case .lost = handler.items[$0] { true } else { false } }
        #expect(losses.count == 2)
        #expect(handler.items[losses[0] + 1] == .report(2000, adapter: 0))
        #expect(handler.items.dropFirst(losses[1] + 1) == [.report(7, adapter: 0)])
    }

    private func raw() throws -> (LossyKernel, EventLoop, HCIScanner) {
        let kernel = LossyKernel(adapters: [0, 1], timing: Self.exact)
        let loop = try EventLoop { kernel.now }
        let scanner = HCIScanner(loop: loop)
        scanner.kernel = kernel.access
        try scanner.start(handler)
        try kernel.answer(scanner)
        #expect(kernel.lines.keys.sorted() == [0, 1])
        return (kernel, loop, scanner)
    }

    @Test func `T5: the reports of several raw channels are delivered in the order of their receive times`() throws {
        let (kernel, _, scanner) = try raw()
        let order = [1, 0, 0, 1, 1, 0, 1, 1, 0, 0]
        for (number, adapter) in order.enumerated() { kernel.report(number, onLineOf: adapter) }
        kernel.stop(for: .seconds(30))
        scanner.drain()
        #expect(handler.items == order.enumerated().map { .report($0.offset, adapter: $0.element) })
        #expect(handler.times == handler.times.sorted())
        scanner.stop()
    }

    @Test
    func `T5: messages of the management socket are delivered at their place among the reports, with their time`()
        throws
    {
        let (kernel, _, scanner) = try raw()
        kernel.report(1, onLineOf: 0)
        kernel.report(2, onLineOf: 1)
        kernel.power(0, isOn: false)
        kernel.report(3, onLineOf: 1)
        kernel.stop(for: .seconds(30))
        let resumed = kernel.now
        scanner.drain()
        #expect(
            handler.items == [
                .report(1, adapter: 0), .report(2, adapter: 1), .stopped(adapter: 0), .report(3, adapter: 1),
            ])
        #expect(handler.times == handler.times.sorted())
        #expect(handler.times.allSatisfy { $0 < resumed })
        scanner.stop()
    }

    @Test func `T5: a loss of one raw channel is reported before the later reports of another`() throws {
        let (kernel, _, scanner) = try raw()
        kernel.report(1, onLineOf: 0)
        Self.flood { kernel.report($0, onLineOf: 1) }
        kernel.report(2, onLineOf: 0)
        scanner.drain()
        let place = try #require(handler.beforeLoss)
        #expect(handler.items.first == .report(1, adapter: 0))
        #expect(handler.items[place - 1] == .report(1000 + place - 2, adapter: 1))
        #expect(handler.items.dropFirst(place) == [.lost(Self.sent - (place - 1), adapter: 1), .report(2, adapter: 0)])
        #expect(scanner.statistics.dropped == Self.sent - (place - 1))
        scanner.stop()
    }

    @Test func `a report that a turn received but had no time to deliver is delivered in the next turn`() throws {
        let (kernel, loop, scanner) = try raw()
        // A turn takes 64 messages for each of the three sockets.
        for number in 0..<192 { kernel.report(number, onLineOf: 0) }
        kernel.report(192, onLineOf: 1)
        try loop.turn(waits: false)
        #expect(handler.items == (0..<192).map { .report($0, adapter: 0) })
        // No descriptor becomes ready for this report, because it was received before.
        try loop.turn(waits: false)
        #expect(handler.items.last == .report(192, adapter: 1) && handler.items.count == 193)
        scanner.stop()
    }

    @Test func `T5: the messages of a socket that fails are delivered before its failure`() throws {
        let (kernel, loop, scanner) = try raw()
        kernel.report(1, onLineOf: 0)
        kernel.report(2, onLineOf: 1)
        // The kernel reports a pending error before the messages (here ECONNREFUSED, because the other end is closed).
        try kernel.hangUp(lineOf: 0)
        scanner.drain()
        #expect(handler.items == [.report(1, adapter: 0), .report(2, adapter: 1), .stopped(adapter: 0)])
        try loop.turn(waits: false)
        scanner.stop()
    }

    @Test(arguments: [ScannerBackend.management, .hci])
    func `a handler can stop the scanner when a loss is reported, and start it again`(backend: ScannerBackend) throws {
        let kernel: LossyKernel
        let scanner: any AdvertisingScanner
        if backend == .hci {
            let fixture = try raw()
            (kernel, scanner) = (fixture.0, fixture.2)
            Self.flood { kernel.report($0, onLineOf: 0) }
            kernel.report(1, onLineOf: 1)
        } else {
            let fixture = try management()
            (kernel, scanner) = (fixture.0, fixture.2)
            Self.flood { kernel.report($0, of: 0) }
        }
        handler.onLoss = {
            kernel.agree()
            scanner.stop()
        }
        scanner.drain()
        let place = try #require(handler.beforeLoss)
        #expect(handler.items.count == place + 1)
        handler.forget()
        handler.onLoss = nil
        try scanner.start(handler)
        try kernel.answer(scanner)
        if backend == .hci { kernel.report(5, onLineOf: 0) } else { kernel.report(5, of: 0) }
        scanner.drain()
        #expect(handler.items == [.report(5, adapter: 0)])
        kernel.agree()
        scanner.stop()
    }
}
