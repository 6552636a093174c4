import BaseTypes
import EventLoops
import Foundation
import Glibc
import ProgramSupport
import SystemPackage
import Testing

@testable import CommandSupport
@testable import GatewayCommands

/// A client of a status socket that does no more than a test requires.
private final class Caller {
    let descriptor: Int32
    let isConnected: Bool

    init(_ path: String) {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let descriptor = descriptor
        isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    /// Returns the bytes that have arrived, and whether the other end has closed the connection.
    func read() -> (bytes: [UInt8], isAtEnd: Bool) {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &part, part.count)
            guard count > 0 else { return (bytes, count == 0) }
            bytes += part.prefix(count)
        }
    }

    func halfClose() { shutdown(descriptor, Int32(SHUT_WR)) }

    deinit { close(descriptor) }
}

/// A status server whose turns and clock a test controls.
private final class Desk {
    // sockaddr_un holds a path of 107 bytes.
    let folder = FileManager.default.temporaryDirectory.path + "/bgs-\(UUID().uuidString.prefix(8))"
    var path: String { folder + "/status.sock" }
    let loop: EventLoop
    let clock = SetClock()
    private(set) var server: StatusServer?
    var answers = 0
    var size = 100

    final class SetClock { var now = Instant(nanoseconds: 1_000_000_000) }

    init(_ limits: StatusServer.Limits = StatusServer.Limits(), size: Int = 100) throws {
        self.size = size
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let clock = clock
        loop = try EventLoop { clock.now }
        server = try StatusServer(at: path, on: loop, limits: limits) { [unowned self] in
            answers += 1
            return "{\"answer\":\(answers)}\n" + String(repeating: "x", count: self.size) + "\n"
        }
    }

    deinit {
        server = nil
        try? FileManager.default.removeItem(atPath: folder)
    }

    func end() { server = nil }

    /// The maximum number of bytes that were sent in one turn.
    var bytesMost = 0

    func turn(after duration: Duration = .zero) throws {
        let before = server?.counters.bytes ?? 0
        clock.now = clock.now + duration
        try loop.turn(waits: false)
        bytesMost = max(bytesMost, (server?.counters.bytes ?? 0) - before)
    }

    /// Runs turns until a client has a complete answer.
    func answer(to caller: Caller, within turns: Int, every duration: Duration) throws -> String? {
        var bytes: [UInt8] = []
        for _ in 0..<turns {
            try turn(after: duration)
            let (more, isAtEnd) = caller.read()
            bytes += more
            if isAtEnd { return String(decoding: bytes, as: UTF8.self) }
        }
        return nil
    }
}

/// The status socket with hostile clients: the work must be bounded, whatever they do.
@Suite struct StatusServerTests {
    @Test func `a client gets an object, a page and an empty line, and then the end`() throws {
        let desk = try Desk()
        let caller = Caller(desk.path)
        let text = try #require(try desk.answer(to: caller, within: 3, every: .zero))
        #expect(text.hasPrefix("{\"answer\":1}\nxxx"))
        #expect(text.hasSuffix("x\n\n"))
        #expect(desk.server?.clientCount == 0)
    }

    @Test func `of clients that connect in a loop, at most four are accepted per turn and per 10 ms`()
        throws
    {
        let desk = try Desk()
        var most = 0
        for turn in 0..<1000 {
            // As many clients as the queue takes. They disconnect at once.
            for _ in 0..<8 { _ = Caller(desk.path) }
            let before = desk.server?.counters.accepted ?? 0
            try desk.turn(after: .milliseconds(1))
            most = max(most, (desk.server?.counters.accepted ?? 0) - before)
            #expect((desk.server?.clientCount ?? 99) <= 64, "turn \(turn)")
        }
        #expect(most == 4)
        let counters = try #require(desk.server?.counters)
        // 1,000 turns are one second, which has 100 pauses.
        #expect(counters.accepted <= 4 * 101)
        #expect(counters.accepted >= 4 * 50)
        // Four answers can be made at once, and then one per second.
        #expect(desk.answers <= 5)
    }

    @Test func `an answer is made once per second, and all waiting clients get the same one`() throws {
        let desk = try Desk()
        // Four answers can be made at once.
        for number in 1...4 {
            let text = try desk.answer(to: Caller(desk.path), within: 4, every: .milliseconds(1))
            #expect(text?.hasPrefix("{\"answer\":\(number)}") == true)
        }
        let waiting = [Caller(desk.path), Caller(desk.path), Caller(desk.path)]
        for _ in 0..<50 { try desk.turn(after: .milliseconds(10)) }
        #expect(desk.answers == 4)
        for caller in waiting { #expect(!caller.read().isAtEnd) }
        for _ in 0..<51 { try desk.turn(after: .milliseconds(10)) }
        #expect(desk.answers == 5)
        for caller in waiting {
            let (bytes, isAtEnd) = caller.read()
            #expect(isAtEnd)
            #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("{\"answer\":5}"))
        }
    }

    @Test func `100 clients that never read do not block others, and cost at most 2 MiB per turn`() throws {
        // The answer is as large as with 3,000 conditions, so that it does not fit into a socket's buffer.
        let desk = try Desk(size: 800_000)
        let hostile = (0..<100).map { _ in Caller(desk.path) }
        #expect(!hostile.contains { !$0.isConnected })
        for caller in hostile.prefix(40) { caller.halfClose() }
        for _ in 0..<40 { try desk.turn(after: .milliseconds(10)) }
        #expect(desk.server?.clientCount == 64)
        let caller = Caller(desk.path)
        #expect(caller.isConnected)
        // 36 clients are waiting before this one. Each gets the place of a client that has read nothing for 250 ms.
        let text = try #require(try desk.answer(to: caller, within: 300, every: .milliseconds(10)))
        #expect(text.hasSuffix("x\n\n"))
        #expect(text.utf8.count > 800_000)
        #expect((desk.server?.counters.dropped ?? 0) >= 36)
        #expect(desk.answers <= 8)
        // A turn handles up to 32 ready clients, and each gets a portion.
        #expect(desk.bytesMost > 0)
        #expect(desk.bytesMost <= 32 * 64 << 10)
        // If no other client waits, these clients are disconnected after five seconds.
        for _ in 0..<600 { try desk.turn(after: .milliseconds(10)) }
        #expect(desk.server?.clientCount == 0)
        withExtendedLifetime(hostile) {}
    }

    @Test func `a client that reads one byte from time to time loses its place to a waiting client`() throws {
        var limits = StatusServer.Limits()
        limits.clients = 1
        let desk = try Desk(limits, size: 4_000_000)
        let slow = Caller(desk.path)
        try desk.turn()
        let caller = Caller(desk.path)
        var text: [UInt8] = []
        var isAtEnd = false
        for _ in 0..<200 where !isAtEnd {
            try desk.turn(after: .milliseconds(10))
            var byte: UInt8 = 0
            _ = Glibc.read(slow.descriptor, &byte, 1)
            let (more, ended) = caller.read()
            text += more
            isAtEnd = ended
        }
        #expect(isAtEnd)
        #expect(text.suffix(2) == [0x0A, 0x0A])
        #expect(desk.server?.counters.dropped == 1)
    }

    @Test func `a file at the path of the status socket is never removed`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/bgs-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = folder + "/status.sock"
        try Data("precious".utf8).write(to: URL(fileURLWithPath: path))
        let loop = try EventLoop()
        let failure = #expect(throws: ExitFailure.self) { _ = try StatusServer(at: path, on: loop) { "" } }
        #expect(failure?.code == .cannotCreate)
        #expect(failure?.message.hasPrefix("\(path) is a file, and is not replaced; set output.status_socket") == true)
        #expect(try contents(of: path) == Array("precious".utf8))
        try FileManager.default.removeItem(atPath: path)
        // A link and its target are not removed either.
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "nowhere")
        #expect(throws: ExitFailure.self) { _ = try StatusServer(at: path, on: loop) { "" } }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == "nowhere")
    }

    @Test func `the socket of a killed gateway is replaced, but not a socket at which a process listens`() throws {
        let desk = try Desk()
        #expect(throws: ExitFailure.self) { _ = try StatusServer(at: desk.path, on: desk.loop) { "" } }
        #expect(Caller(desk.path).isConnected)
        // If another program has put its own file there, the end of the gateway does not remove it.
        unlink(desk.path)
        try Data("precious".utf8).write(to: URL(fileURLWithPath: desk.path))
        desk.end()
        #expect(try contents(of: desk.path) == Array("precious".utf8))
        unlink(desk.path)
        // The remains of a killed gateway: a socket at which no process listens.
        let dead = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(desk.path.utf8)) }
        withUnsafePointer(to: &address) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(dead, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        close(dead)
        let server = try StatusServer(at: desk.path, on: desk.loop) { "" }
        var status = stat()
        #expect(stat(desk.path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o660)
        withExtendedLifetime(server) {}
    }

    @Test func `status retries if its answer ends early, then reports that a gateway runs but is too busy`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/bgs-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let file = folder + "/g.yaml"
        try Data(
            """
            output: {directory: \(folder)/events, state_directory: \(folder)/state, status_socket: \(folder)/status.sock}
            conditions: [{identifier: a, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]
            """.utf8
        ).write(to: URL(fileURLWithPath: file))
        let listener = try UnixSocket.Listener(at: folder + "/status.sock")
        /// Accepts clients, sends each the next of these answers, and closes the connection.
        func answer(_ answers: [String]) throws -> Ending {
            let descriptor = listener.descriptor.rawValue
            let thread = Thread {
                for answer in answers {
                    guard waitUntilReadable(descriptor, milliseconds: 60_000) else { return }
                    let client = accept(descriptor, nil, nil)
                    let bytes = Array(answer.utf8)
                    _ = bytes.withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                    close(client)
                }
            }
            thread.start()
            return try Gateway.run("status", "--json", "--config", file)
        }
        let busy = try answer(["", "{\"type\":\"sta", ""])
        #expect(busy.status == 69)
        #expect(busy.errors.contains("a gateway runs, but it is too busy to answer"), "\(busy.errors)")
        let whole = try answer(["{\"type\":\"sta", "{\"type\":\"status\"}\npage\n\n"])
        #expect(whole.status == 0)
        #expect(whole.text == "{\"type\":\"status\"}\n")
        // Texts of a gateway must not control a terminal.
        let hostile = try answer(["{\"type\":\"status\",\"a\":\"\u{9B}31m\u{202E}ü\",\"b\":[1,-0.5]}\npage\n\n"])
        #expect(hostile.status == 0)
        #expect(hostile.text == #"{"type":"status","a":"\u009B31m\u202Eü","b":[1,-0.5]}"# + "\n")
        let socket = folder + "/status.sock"
        for strange in ["{}\n\n", "{\"type\":\"event\"}\npage\n\n", "{\"type\":\"status\"}\n\n", "page\n\n", "\n\n"] {
            let ending = try answer([strange])
            #expect(ending.status == 65 && ending.text.isEmpty, "\(strange)")
            #expect(
                ending.errors.hasPrefix("the answer at \(socket) is not the status of a gateway: find the program"),
                "\(ending.errors)")
        }
        let flood = try answer([String(repeating: "x", count: 70 << 20)])
        #expect(flood.status == 65 && flood.text.isEmpty)
        #expect(flood.errors.hasPrefix("the answer at \(socket) is longer than 64 MiB: "), "\(flood.errors)")
        withExtendedLifetime(listener) {}
    }

    @Test func `a gateway that sends its answer one byte at a time counts as too busy`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/bgs-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let listener = try UnixSocket.Listener(at: folder + "/status.sock")
        let descriptor = listener.descriptor.rawValue
        let thread = Thread {
            guard waitUntilReadable(descriptor, milliseconds: 60_000) else { return }
            let client = accept(descriptor, nil, nil)
            defer { close(client) }
            // It sends until the client disconnects, or much longer than the client should wait.
            for _ in 0..<3000 where send(client, "x", 1, Int32(MSG_NOSIGNAL)) == 1 { usleep(20_000) }
        }
        thread.start()
        #expect(try UnixSocket.ask(folder + "/status.sock", atMost: 1 << 20, patience: 1) == .busy)
        withExtendedLifetime(listener) {}
    }

    @Test func `status distinguishes a gateway that is too busy from one that does not run`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/bgs-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = folder + "/status.sock"
        #expect(try UnixSocket.ask(path, atMost: 100) == .noListener)
        // A process listens here, but never accepts a client.
        let listener = try UnixSocket.Listener(at: path)
        #expect(try UnixSocket.ask(path, atMost: 100, patience: 1) == .busy)
        var callers: [Caller] = []
        while callers.last?.isConnected ?? true, callers.count < 1000 { callers.append(Caller(path)) }
        #expect(callers.count < 1000)
        // The queue of the socket is full.
        #expect(try UnixSocket.ask(path, atMost: 100, patience: 1) == .busy)
        withExtendedLifetime(listener) {}
    }
}
