import Foundation
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// What the tests need beside the toolchain.
enum BrokerTools {
    static let broker = "/usr/sbin/mosquitto"
    static let subscribe = "/usr/bin/mosquitto_sub"
    static let publish = "/usr/bin/mosquitto_pub"
    static let openssl = "/usr/bin/openssl"
    static let reason: Comment = "mosquitto, mosquitto-clients or openssl is missing"
    static let areThere = [broker, subscribe, publish, openssl].allSatisfy {
        FileManager.default.isExecutableFile(atPath: $0)
    }
}

/// A number from the environment.
func number(_ name: String, default value: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap(Int.init) ?? value
}

/// A generator whose seed can be printed and given again (SplitMix64).
struct SeededNumbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

struct NothingCame: Error, CustomStringConvertible {
    var description: String
}

/// A folder for one test's files, gone with this value.
final class TestFolder {
    let path = "/tmp/mqtt-\(UUID().uuidString.prefix(8))"

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }

    @discardableResult func write(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }
}

/// A program that runs beside the test, whose lines are taken as they come; it ends with this value.
final class Child {
    /// What its reader's thread has in common with whoever waits.
    private final class Lines: @unchecked Sendable {
        let condition = NSCondition()
        var lines: [String] = []
        var isAtEnd = false
        let body: (@Sendable (String) -> Void)?

        init(_ body: (@Sendable (String) -> Void)?) { self.body = body }

        func read(_ descriptor: Int32) {
            var rest: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = Glibc.read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                rest += buffer[..<count]
                var start = 0
                while let end = rest[start...].firstIndex(of: 0x0A) {
                    take(String(decoding: rest[start..<end], as: UTF8.self))
                    start = end + 1
                }
                rest.removeFirst(start)
            }
            close(descriptor)
            condition.withLock {
                isAtEnd = true
                condition.broadcast()
            }
        }

        private func take(_ line: String) {
            if let body { return body(line) }
            condition.withLock {
                lines.append(line)
                condition.broadcast()
            }
        }
    }

    let process = Process()
    private let output: Lines
    private var taken = 0

    /// Starts it; `body`, where there is one, takes each line, in a thread of its own.
    init(_ program: String, _ arguments: [String], each body: (@Sendable (String) -> Void)? = nil) throws {
        output = Lines(body)
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let pipe = Foundation.Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        // The threads that tests run in block signals, and a child would inherit that.
        var (none, before) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try process.run()
        let descriptor = dup(pipe.fileHandleForReading.fileDescriptor)
        let output = output
        Thread.detachNewThread { output.read(descriptor) }
    }

    deinit { if process.isRunning { end(SIGKILL) } }

    /// Waits until a line holds `text`, and gives it; lines before it are passed over.
    @discardableResult func line(with text: String, within seconds: TimeInterval = 30) throws -> String {
        output.condition.lock()
        defer { output.condition.unlock() }
        let end = Date(timeIntervalSinceNow: seconds)
        while true {
            while taken < output.lines.count {
                taken += 1
                if output.lines[taken - 1].contains(text) { return output.lines[taken - 1] }
            }
            guard !output.isAtEnd, output.condition.wait(until: end) else {
                throw NothingCame(description: "no line with “\(text)” came; these did: \(output.lines.suffix(10))")
            }
        }
    }

    /// All lines so far.
    var said: [String] { output.condition.withLock { output.lines } }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Ends it, and gives how it ended; what it said is there then.
    @discardableResult func end(_ number: Int32 = SIGTERM) -> Int32 {
        if process.isRunning {
            signal(number)
            signal(SIGCONT)
        }
        return wait()
    }

    /// Waits for its end.
    @discardableResult func wait() -> Int32 {
        process.waitUntilExit()
        output.condition.lock()
        while !output.isAtEnd, output.condition.wait(until: Date(timeIntervalSinceNow: 10)) {}
        output.condition.unlock()
        return process.terminationReason == .uncaughtSignal ? -process.terminationStatus : process.terminationStatus
    }
}

/// A TCP port of the loopback that nobody listens at.
func freePort() -> UInt16 {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
            _ = Glibc.bind(socket, pointer, size)
            _ = getsockname(socket, pointer, &size)
        }
    }
    return UInt16(bigEndian: address.sin_port)
}

/// A real broker with a configuration of its own.
final class Broker {
    let folder: TestFolder
    let port: UInt16
    private var child: Child?

    /// Starts one; with `listener` in place of a plain one at the loopback.
    init(_ folder: TestFolder, listener: String? = nil, more: String = "allow_anonymous true", isStarted: Bool = true)
        throws
    {
        self.folder = folder
        port = freePort()
        try FileManager.default.createDirectory(
            atPath: folder.file("broker-\(port)"), withIntermediateDirectories: true)
        try folder.write(
            "broker-\(port).conf",
            """
            user root
            listener \(port) 127.0.0.1
            \(listener ?? "")
            persistence true
            persistence_location \(folder.file("broker-\(port)"))/
            autosave_interval 1800
            max_queued_messages 10000000
            log_dest stderr
            log_type error
            log_type warning
            log_type notice
            log_type information
            \(more)

            """)
        if isStarted { try start() }
    }

    deinit { child?.end(SIGKILL) }

    func start() throws {
        let child = try Child(BrokerTools.broker, ["-c", folder.file("broker-\(port).conf")])
        self.child = child
        try child.line(with: "running")
    }

    func stop(_ signal: Int32 = SIGTERM) {
        child?.end(signal)
        child = nil
    }

    func signal(_ number: Int32) { child?.signal(number) }

    /// Waits until it logs a line.
    @discardableResult func line(with text: String) throws -> String { try child?.line(with: text) ?? "" }

    var log: [String] { child?.said ?? [] }
}

/// Who subscribes with a session that outlasts connections, and notes which numbers came, in order.
final class Subscriber: @unchecked Sendable {
    private let condition = NSCondition()
    private var numbers: [Int] = []
    private var isThere: Set<Int> = []
    private var child: Child?

    init(_ broker: Broker, topic: String = "beacons/#", version: String = "mqttv311") throws {
        let arguments = [
            "-p", "\(broker.port)", "-h", "127.0.0.1", "-i", "subscriber", "-c", "-q", "1", "-t", topic, "-V", version,
        ]
        // With -E it ends once it has subscribed: from here on nothing passes it by. To a session that was there before it
        // is already given what waits.
        let first = try Child(BrokerTools.subscribe, arguments + ["-E"]) { [weak self] line in self?.take(line) }
        try #require(first.wait() == 0, "\(first.said)")
        child = try Child(BrokerTools.subscribe, arguments) { [weak self] line in self?.take(line) }
    }

    func end() { child?.end(SIGKILL) }

    private func take(_ line: String) {
        guard let key = line.range(of: "\"sequence\":"),
            let number = Int(line[key.upperBound...].prefix { $0.isNumber })
        else { return }
        condition.lock()
        numbers.append(number)
        isThere.insert(number)
        condition.broadcast()
        condition.unlock()
    }

    /// All that came, in order.
    var all: [Int] {
        condition.lock()
        defer { condition.unlock() }
        return numbers
    }

    /// Waits until all up to `last` came, or nothing came for a while.
    @discardableResult func wait(for count: Int, quiet seconds: TimeInterval = 30) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        while isThere.count < count {
            guard condition.wait(until: Date(timeIntervalSinceNow: seconds)) else { return false }
        }
        return true
    }

    /// Those that came, each at its first time.
    static func distinct(_ numbers: [Int]) -> [Int] {
        var seen: Set<Int> = []
        return numbers.filter { seen.insert($0).inserted }
    }
}
