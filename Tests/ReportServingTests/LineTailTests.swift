import EventLog
import Foundation
import ProgramSupport
import TestSupport
import Testing

@testable import ReportServing

@Suite struct LineTailTests {
    static func tail(after sequence: Int, _ lines: [String]) -> LineTail {
        var tail = LineTail(after: sequence)
        var message = LineMessage(prefix: "")
        for line in lines where message.parse(Array(line.utf8)) { tail.note(Array(line.utf8), message, missed: 0) }
        return tail
    }

    @Test func `returns the first line after each sequence number, and none after the last`() {
        var writer = LineWriter()
        for number in 0..<40 { writer.completeVisit("staff", Double(number), Double(number) + 1) }
        let tail = Self.tail(after: 60, writer.lines)
        #expect((tail.begin, tail.end) == (60, 120))
        for number in 60..<120 { #expect(tail.first(behind: number)?.sequence == number + 1) }
        #expect(tail.first(behind: 120) == nil)
        // Lines up to 60 are not stored: clients must read them from the files.
        #expect(!tail.knowsAll(behind: 59) && tail.knowsAll(behind: 60) && tail.knowsAll(behind: 121))
    }

    @Test func `stores at most 256 lines and 256 KiB, and its start is after the removed ones`() {
        var writer = LineWriter()
        for number in 0..<2 * LineTail.linesMax { writer.event("staff", "satisfied", Double(number), minor: 1) }
        var tail = Self.tail(after: 0, writer.lines)
        #expect((tail.begin, tail.end) == (LineTail.linesMax, 2 * LineTail.linesMax))
        // If each line has more than a fifth of the byte limit, only four are stored.
        let long = String(repeating: "x", count: LineTail.bytesMax / 5)
        var message = LineMessage(prefix: "")
        for _ in 0..<8 {
            writer.event(long, "satisfied", 5000, minor: 1)
            let line = Array(writer.lines.last!.utf8)
            let isLine = message.parse(line)
            #expect(isLine)
            tail.note(line, message, missed: 0)
        }
        #expect(tail.begin == tail.end - 4)
        #expect(tail.first(behind: tail.begin)?.sequence == tail.end - 3)
    }

    @Test func `a line that is read again is stored once`() {
        var writer = LineWriter()
        for number in 0..<200 { writer.event("staff", "satisfied", Double(number), minor: 1) }
        let tail = Self.tail(after: 0, writer.lines + writer.lines)
        // If the 200 lines were stored twice, they would exceed the limit, and `begin` would not be 0.
        #expect(tail.begin == 0)
        var numbers: [Int] = []
        var last = 0
        while let line = tail.first(behind: last) {
            numbers.append(line.sequence)
            last = line.sequence
        }
        #expect(numbers == Array(1...200))
    }

    @Test func `20 streams at the end of the lines receive each new line and open no file`() async throws {
        let fixture = try ServedFixture { $0.completeVisit("staff", 10, 20, minor: 7) }
        _ = try await fixture.get("/api/v1/present")
        let before = try Self.openFiles(of: fixture)
        let peers = try (0..<20).map { _ in try fixture.open("/api/v1/events") }
        try await fixture.turn(until: "the streams wait") { fixture.served.server?.streamCount == peers.count }
        for number in 0..<5 {
            fixture.writer.event("staff", "satisfied", Double(50 + number), minor: 8, seen: 50)
            try fixture.flush()
            try await fixture.turn(until: "the event is received") {
                peers.allSatisfy { EventStreamTests.numbers($0).last == fixture.writer.sequence }
            }
            #expect(try Self.openFiles(of: fixture) == before)
        }
        #expect(peers.allSatisfy { EventStreamTests.numbers($0) == Array(4...8) })
    }

    private static func openFiles(of fixture: ServedFixture) throws -> Int {
        let files = FileManager.default
        return try files.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
            // Another test can have closed the descriptor meanwhile.
            let target = try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
            return target?.hasPrefix(fixture.scratch.url.path + "/") == true
        }
    }

    @Test(arguments: 0..<6) func `each client receives each line once, from any start`(seed: Int) async throws {
        var random = SeededGenerator(state: UInt64(seed))
        let fixture = try ServedFixture {
            for number in 0..<200 { $0.completeVisit("staff", Double(number), Double(number) + 1) }
        }
        _ = try await fixture.get("/api/v1/present")
        var clients: [(peer: Peer, begin: Int)] = []
        for _ in 0..<12 {
            let end = fixture.writer.sequence
            if random.chance(60) {
                let begin = random.below(end + 1)
                clients.append((try fixture.open("/api/v1/events", "Last-Event-ID: g:\(begin)"), begin))
                let count = clients.count
                try await fixture.turn(until: "the client is connected") { fixture.served.server?.streamCount == count }
            }
            for _ in 0..<random.pick([1, 3, 100, 400]) {
                fixture.writer.event("staff", "satisfied", 1000, minor: random.below(9))
            }
            try fixture.flush()
            for _ in 0..<random.below(50) { try fixture.loop.turn(waits: false) }
        }
        for (number, client) in clients.enumerated() {
            try await fixture.turn(until: "client \(number) received all events") {
                client.peer.hasRead("id: g:\(fixture.writer.sequence)\n")
            }
            try await fixture.turn(until: "the last event is complete") {
                client.peer.events.count >= fixture.writer.sequence - client.begin
            }
            #expect(EventStreamTests.numbers(client.peer) == Array(client.begin + 1...fixture.writer.sequence))
        }
    }

    @Test func `a stream at the end of the lines also reports sequence numbers without a line`() async throws {
        let fixture = try ServedFixture { $0.completeVisit("staff", 10, 20, minor: 7) }
        _ = try await fixture.get("/api/v1/present")
        let peer = try fixture.open("/api/v1/events")
        try await fixture.turn(until: "the stream waits") { fixture.served.server?.streamCount == 1 }
        fixture.writer.sequence += 4
        fixture.writer.event("staff", "satisfied", 50, minor: 8)
        try fixture.flush()
        try await fixture.turn(until: "the event is received") { !EventStreamTests.numbers(peer).isEmpty }
        #expect(EventStreamTests.numbers(peer) == [8])
        #expect(peer.dechunked.contains("event: missed\ndata: {\"lines\":4}\n\nid: g:8\n"))
    }
}
