import BaseTypes
import CommandSupport
import EventLoops
import Glibc
import JSON
import SystemPackage

/// The status of the gateway, from its status socket. It is requested only when a client needs it, once for all clients
/// that wait for it.
final class DaemonStatus {
    // The status of a gateway with about 20,000 conditions has this size. A longer answer counts as no answer.
    static let bytesMax = 4 << 20
    // A request can wait a second for the gateway's next answer, and other clients can be answered first.
    static let patience: Duration = .seconds(3)
    private static let freshFor: Duration = .seconds(1)
    private static let bytesPerTurn = 65_536

    /// The last answer; `nil` if the gateway could not be reached or did not answer.
    private(set) var answer: JSONText?

    private let path: String
    private let loop: EventLoop
    private var waiting: [() -> Void] = []
    private var asked: Instant?
    private var socket: FileDescriptor?
    private var watch: EventLoop.Watch?
    private var timer: EventLoop.Timer?
    private var bytes: [UInt8] = []

    /// Creates a client of the status socket at `path`.
    init(_ path: String, on loop: EventLoop) {
        (self.path, self.loop) = (path, loop)
        timer = loop.makeTimer { [unowned self] _ in end(nil) }
    }

    deinit {
        close()
        if let timer { loop.end(timer) }
    }

    /// Whether ``answer`` is less than a second old, and no request is in progress.
    var isFresh: Bool { asked.map { socket == nil && loop.now - $0 < Self.freshFor } ?? false }

    /// Requests the status, unless a request is in progress. Calls `known` once, when there is an answer or the request
    /// has failed.
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
        var part = [UInt8](repeating: 0, count: Self.bytesPerTurn)
        let count = unsafe part.withUnsafeMutableBytes {
            unsafe Glibc.read(socket.rawValue, $0.baseAddress, $0.count)
        }
        if count < 0 {
            if errno != EAGAIN, errno != EINTR { end(nil) }
            return
        }
        bytes += part[..<count]
        // The JSON object is one line. The page for people after it is not read.
        if let line = bytes.firstIndex(of: 0x0A) {
            var text = JSONText(Array(bytes[..<line]))
            end(text.parse() ? text : nil)
        } else if count == 0 || bytes.count > Self.bytesMax {
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
        (watch, socket, bytes) = (nil, nil, [])
    }
}
