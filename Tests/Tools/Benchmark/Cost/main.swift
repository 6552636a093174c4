// The daemon without a radio. It receives reports through standard input, a socket that preserves the boundaries of
// messages. The programs Tests/Tools/Benchmark/cost and Tests/Tools/HomeAssistant/live.py send them. A message is an
// RSSI, an address and AD structures, or one letter: the adapter scans (l), stops (s), or is removed (g).
import AdapterScanning
import BluetoothLE
import EventLoops
import GatewayCommands
import SystemPackage

/// A scanner that receives one report per message from a socket, as from the kernel's sockets.
final class SocketScanner: AdvertisingScanner {
    let backend = ScannerBackend.management
    private let loop: EventLoop
    private let socket = FileDescriptor.standardInput
    private var handler: (any ScanHandler)?
    private var watch: EventLoop.Watch?
    private var buffer = [UInt8](repeating: 0, count: 512)

    init(_ loop: EventLoop) { self.loop = loop }

    func start(_ handler: any ScanHandler) throws(ScannerError) {
        self.handler = handler
        do throws(Errno) {
            watch = try loop.watch(socket, for: .read, mayRest: true) { [unowned self] _ in drain() }
        } catch {
            throw ScannerError(.unavailable, "standard input is not a socket: \(error)")
        }
        handler.changed(.appeared(adapter: 0, controller: "a socket"), at: loop.now)
        handler.changed(.listening(adapter: 0, reason: "a socket"), at: loop.now)
    }

    func drain() {
        while let count = try? buffer.withUnsafeMutableBytes({ try unsafe socket.read(into: $0) }), count > 0 {
            guard count > 7 else {
                change(buffer[0])
                continue
            }
            var address: UInt64 = 0
            for index in 1..<7 { address = address << 8 | UInt64(buffer[index]) }
            let report = AdvertisingReport(
                address: DeviceAddress(address, kind: .random), rssi: RSSI(dBm: Int8(bitPattern: buffer[0])),
                properties: .legacy, data: 0..<(count - 7))
            handler?.received(report, data: buffer.span.extracting(7..<count), on: 0, at: loop.now)
        }
    }

    private func change(_ letter: UInt8) {
        let now = loop.now
        switch letter {
        case UInt8(ascii: "l"):
            handler?.changed(.appeared(adapter: 0, controller: "a socket"), at: now)
            handler?.changed(.listening(adapter: 0, reason: "a socket"), at: now)
        case UInt8(ascii: "s"):
            handler?.changed(.stopped(adapter: 0, since: now, reason: "a message stopped it"), at: now)
        case UInt8(ascii: "g"):
            handler?.changed(.stopped(adapter: 0, since: now, reason: "a message removed it"), at: now)
            handler?.changed(.disappeared(adapter: 0), at: now)
        default: break
        }
    }

    func take(_ step: WatchdogStep, on adapter: Int) -> WatchdogStep.Outcome { .taken }

    func stop() {
        if let watch { loop.end(watch) }
        watch = nil
        handler = nil
    }
}

// Writes a line at once. Lines of `print` would stay in its buffer.
func say(_ line: String) { _ = try? FileDescriptor.standardOutput.writeAll((line + "\n").utf8) }

do {
    let daemon = try Daemon(
        configuration: CommandLine.arguments[1],
        makeScanner: { (_, loop) throws(ScannerError) in SocketScanner(loop) }, log: { _, line in say(line) })
    try daemon.run()
} catch {
    say("\(error)")
}
