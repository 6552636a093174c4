import BaseTypes
import EventLoops
import Foundation
import Glibc
import ProgramSupport
import SystemPackage
import Testing

@testable import CommandSupport
@testable import GatewayCommands

/// A client of a status socket that does as little as it is told to.
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

    /// What has come up to now; ends with whether the other end has closed.
    func read() -> (octets: [UInt8], isAtEnd: Bool) {
        var octets: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &part, part.count)
            guard count > 0 else { return (octets, count == 0) }
            octets += part.prefix(count)
        }
    }

    func halfClose() { shutdown(descriptor, Int32(SHUT_WR)) }

    deinit { close(descriptor) }
}

/// A status server in turns that a test takes, by a clock that it sets.
private final class Desk {
    // sockaddr_un holds 107 octets.
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

    /// The most octets that were handed over in one turn.
    var octetsMost = 0

    func turn(after duration: Duration = .zero) throws {
        let before = server?.counters.octets ?? 0
        clock.now = clock.now + duration
        try loop.turn(waits: false)
        octetsMost = max(octetsMost, (server?.counters.octets ?? 0) - before)
    }

    /// Takes turns until somebody has an answer, whole.
    func answer(to caller: Caller, within turns: Int, every duration: Duration) throws -> String? {
        var octets: [UInt8] = []
        for _ in 0..<turns {
            try turn(after: duration)
            let (more, isAtEnd) = caller.read()
            octets += more
            if isAtEnd { return String(decoding: octets, as: UTF8.self) }
        }
        return nil
    }
}

/// The status socket among clients that mean no good: bounded work, whatever they do.
@Suite struct StatusServerTests {
    @Test func `who asks gets an object, a page and an empty line, and the end`() throws {
        let desk = try Desk()
        let caller = Caller(desk.path)
        let text = try #require(try desk.answer(to: caller, within: 3, every: .zero))
        #expect(text.hasPrefix("{\"answer\":1}\nxxx"))
        #expect(text.hasSuffix("x\n\n"))
        #expect(desk.server?.clientCount == 0)
    }

    @Test func `clients in connect loops are taken on four a turn and a hundredth of a second, whatever they do`()
        throws
    {
        let desk = try Desk()
        var most = 0
        for turn in 0..<1000 {
            // As many as the queue takes, gone at once.
            for _ in 0..<8 { _ = Caller(desk.path) }
            let before = desk.server?.counters.accepted ?? 0
            try desk.turn(after: .milliseconds(1))
            most = max(most, (desk.server?.counters.accepted ?? 0) - before)
            #expect((desk.server?.clientCount ?? 99) <= 64, "turn \(turn)")
        }
        #expect(most == 4)
        let counters = try #require(desk.server?.counters)
        // 1,000 turns are a second: a hundred pauses.
        #expect(counters.accepted <= 4 * 101)
        #expect(counters.accepted >= 4 * 50)
        // Four at once, and one more a second.
        #expect(desk.answers <= 5)
    }

    @Test func `an answer is made once a second, and whoever waits gets the same one`() throws {
        let desk = try Desk()
        // The four that may be made at once.
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
            let (octets, isAtEnd) = caller.read()
            #expect(isAtEnd)
            #expect(String(decoding: octets, as: UTF8.self).hasPrefix("{\"answer\":5}"))
        }
    }

    @Test func `a hundred that never read keep nobody from an answer, and cost two MiB a turn at most`() throws {
        // As large as 3,000 conditions make it, so that no socket's buffer holds it.
        let desk = try Desk(size: 800_000)
        let hostile = (0..<100).map { _ in Caller(desk.path) }
        #expect(!hostile.contains { !$0.isConnected })
        for caller in hostile.prefix(40) { caller.halfClose() }
        for _ in 0..<40 { try desk.turn(after: .milliseconds(10)) }
        #expect(desk.server?.clientCount == 64)
        let caller = Caller(desk.path)
        #expect(caller.isConnected)
        // Those before it are 36, who each get the place of one who has taken nothing for a quarter of a second.
        let text = try #require(try desk.answer(to: caller, within: 300, every: .milliseconds(10)))
        #expect(text.hasSuffix("x\n\n"))
        #expect(text.utf8.count > 800_000)
        #expect((desk.server?.counters.dropped ?? 0) >= 36)
        #expect(desk.answers <= 8)
        // A turn takes up 32 that are ready, and each gets a portion.
        #expect(desk.octetsMost > 0)
        #expect(desk.octetsMost <= 32 * 64 << 10)
        // Without anybody who waits they are let be for five seconds, and then let go.
        for _ in 0..<600 { try desk.turn(after: .milliseconds(10)) }
        #expect(desk.server?.clientCount == 0)
        withExtendedLifetime(hostile) {}
    }

    @Test func `one that takes an octet now and then has no place for ever`() throws {
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
            var octet: UInt8 = 0
            _ = Glibc.read(slow.descriptor, &octet, 1)
            let (more, ended) = caller.read()
            text += more
            isAtEnd = ended
        }
        #expect(isAtEnd)
        #expect(text.suffix(2) == [0x0A, 0x0A])
        #expect(desk.server?.counters.dropped == 1)
    }

    @Test func `a file in the status socket's place is never removed`() throws {
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
        // Nor what a link shows, nor the link.
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "nowhere")
        #expect(throws: ExitFailure.self) { _ = try StatusServer(at: path, on: loop) { "" } }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == "nowhere")
    }

    @Test func `a socket that a killed gateway left is taken over, one that is listened at is not`() throws {
        let desk = try Desk()
        #expect(throws: ExitFailure.self) { _ = try StatusServer(at: desk.path, on: desk.loop) { "" } }
        #expect(Caller(desk.path).isConnected)
        // Somebody has put something of his own there: the end of the gateway is not its end.
        unlink(desk.path)
        try Data("precious".utf8).write(to: URL(fileURLWithPath: desk.path))
        desk.end()
        #expect(try contents(of: desk.path) == Array("precious".utf8))
        unlink(desk.path)
        // What is left of one that was killed: a socket that nobody listens at.
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

    @Test func `status asks again where its answer ends early, and says that a gateway runs and is too busy`() throws {
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
        /// Takes on who asks, and ends with these answers in turn.
        func answer(_ answers: [String]) throws -> Ending {
            let descriptor = listener.descriptor.rawValue
            let thread = Thread {
                for answer in answers {
                    guard waitUntilReadable(descriptor, milliseconds: 60_000) else { return }
                    let client = accept(descriptor, nil, nil)
                    let octets = Array(answer.utf8)
                    _ = octets.withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
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
        // Texts of a gateway do nothing to a terminal.
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

    @Test func `a gateway whose answer drips, a byte at a time, is one that is too busy`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/bgs-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let listener = try UnixSocket.Listener(at: folder + "/status.sock")
        let descriptor = listener.descriptor.rawValue
        let thread = Thread {
            guard waitUntilReadable(descriptor, milliseconds: 60_000) else { return }
            let client = accept(descriptor, nil, nil)
            defer { close(client) }
            // Until the client goes, or long after it should have.
            for _ in 0..<3000 where send(client, "x", 1, Int32(MSG_NOSIGNAL)) == 1 { usleep(20_000) }
        }
        thread.start()
        #expect(try UnixSocket.ask(folder + "/status.sock", atMost: 1 << 20, patience: 1) == .busy)
        withExtendedLifetime(listener) {}
    }

    @Test func `status tells a gateway that is too busy from one that does not run`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/bgs-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = folder + "/status.sock"
        #expect(try UnixSocket.ask(path, atMost: 100) == .nobody)
        // It listens and never takes anybody on.
        let listener = try UnixSocket.Listener(at: path)
        #expect(try UnixSocket.ask(path, atMost: 100, patience: 1) == .busy)
        var callers: [Caller] = []
        while callers.last?.isConnected ?? true, callers.count < 1000 { callers.append(Caller(path)) }
        #expect(callers.count < 1000)
        // Its queue is full.
        #expect(try UnixSocket.ask(path, atMost: 100, patience: 1) == .busy)
        withExtendedLifetime(listener) {}
    }
}
