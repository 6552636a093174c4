import BaseTypes
import CommandSupport
import EventLoops
import Glibc
import JSON
import SystemPackage

/// What the gateway says of itself at its status socket, asked when somebody wants to know, once for all who do.
final class DaemonStatus {
    // A gateway with some 20,000 conditions says as much; of one that says more nothing is known here.
    static let octetsMax = 4 << 20
    // It answers once a second at most, and may have others to answer.
    static let patience: Duration = .seconds(3)
    private static let freshFor: Duration = .seconds(1)
    private static let octetsPerTurn = 65_536

    /// What it said last; `nil` where it could not be asked, or did not answer.
    private(set) var answer: JSONText?

    private let path: String
    private let loop: EventLoop
    private var waiting: [() -> Void] = []
    private var asked: Instant?
    private var socket: FileDescriptor?
    private var watch: EventLoop.Watch?
    private var timer: EventLoop.Timer?
    private var octets: [UInt8] = []

    /// Asks at `path`.
    init(_ path: String, on loop: EventLoop) {
        (self.path, self.loop) = (path, loop)
        timer = loop.makeTimer { [unowned self] _ in end(nil) }
    }

    deinit {
        close()
        if let timer { loop.end(timer) }
    }

    /// Whether ``answer`` is not older than a second.
    var isFresh: Bool { asked.map { socket == nil && loop.now - $0 < Self.freshFor } ?? false }

    /// Asks, unless that is being done, and calls back once when it is known what it says, or that it does not.
    func ask(_ known: @escaping () -> Void) {
        waiting.append(known)
        guard socket == nil else { return }
        do throws(Errno) {
            guard let made = try UnixSocket.connected(to: path) else { return end(nil) }
            socket = made
            watch = try loop.watch(made, for: .read) { [unowned self] _ in read() }
            if let timer { loop.set(timer, at: loop.now + Self.patience) }
        } catch {
            end(nil)
        }
    }

    private func read() {
        guard let socket else { return }
        var part = [UInt8](repeating: 0, count: Self.octetsPerTurn)
        let count = unsafe part.withUnsafeMutableBytes {
            unsafe Glibc.read(socket.rawValue, $0.baseAddress, $0.count)
        }
        if count < 0 {
            if errno != EAGAIN, errno != EINTR { end(nil) }
            return
        }
        octets += part[..<count]
        // The object is a line; a page for people follows, which nobody here reads.
        if let line = octets.firstIndex(of: 0x0A) {
            var text = JSONText(Array(octets[..<line]))
            end(text.parse() ? text : nil)
        } else if count == 0 || octets.count > Self.octetsMax {
            end(nil)
        }
    }

    private func end(_ answer: JSONText?) {
        close()
        self.answer = answer
        asked = loop.now
        if let timer { loop.set(timer, at: nil) }
        let calls = waiting
        waiting = []
        for call in calls { call() }
    }

    private func close() {
        if let watch { loop.end(watch) }
        if let socket { try? socket.close() }
        (watch, socket, octets) = (nil, nil, [])
    }
}
