import BaseTypes
import Captures
import CommandSupport
import Foundation
import Glibc
import ProgramSupport
import SystemPackage
import TestSupport
import Testing

@testable import GatewayCommands

/// `run --from` with FIFOs and sockets: another program writes while the scanner reads.
@Suite struct CaptureStreamScannerTests {
    let scratch: Scratch
    let fifo: String
    init() throws {
        scratch = try Scratch()
        fifo = scratch.path("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
    }

    /// The writing end of a FIFO. It closes together with this value.
    private final class Writer {
        let descriptor: FileDescriptor
        /// Opens the FIFO as soon as the scanner reads it.
        init(_ path: String, _ scan: CapturedScan) throws {
            var opened: FileDescriptor?
            try scan.loop.turn(until: "the FIFO has a reader") {
                opened = try? FileDescriptor.open(FilePath(path), .writeOnly, options: .nonBlocking)
                return opened != nil
            }
            descriptor = try #require(opened)
            _ = fcntl(descriptor.rawValue, F_SETFL, O_WRONLY)
        }
        deinit { try? descriptor.close() }
        func write(_ lines: String...) throws {
            try descriptor.writeAll(lines.map { $0 + "\n" }.joined().utf8)
        }
    }

    private func hasReader() -> Bool {
        guard let probe = try? FileDescriptor.open(FilePath(fifo), .writeOnly, options: .nonBlocking) else {
            return false
        }
        try? probe.close()
        return true
    }

    private func withoutTimes(_ notes: [String]) -> [String] {
        notes.map { $0.drop { $0 != " " }.dropFirst().description }
    }

    @Test func `records of a FIFO are received when they are written, whatever their times`() throws {
        let scan = try CapturedScan(fifo)
        defer { scan.stop() }
        let writer = try Writer(fifo, scan)
        try writer.write(Log.sighting("4000000000", adapter: "esp"), Log.sighting("5", adapter: "esp", minor: 2))
        try scan.loop.turn(until: "both are received") { scan.reports == 2 }
        let notes = scan.takeNotes()
        #expect(
            withoutTimes(notes) == ["0: esp scans", "0: badge 1/-59 -60", "0: badge 2/-59 -60"])
        let times = try notes.map { try #require(Double($0.prefix { $0 != " " })) }
        let now = Double((scan.loop.now - scan.start).nanoseconds) / 1e9
        #expect(times == times.sorted() && times[0] >= 0 && times[2] <= now, "\(times) \(now)")
    }

    @Test func `a record needs no time, even if others have one, and a short one is received at once`() throws {
        let scan = try CapturedScan(fifo)
        defer { scan.stop() }
        let writer = try Writer(fifo, scan)
        for (index, line) in [#"{"data":""}"#, Log.sighting("5"), #"{"data":""}"#, "{}"].enumerated() {
            try writer.write(line)
            try scan.loop.turn(until: "it is handled") { scan.reports > index || !scan.log.isEmpty }
        }
        #expect(scan.reports == 3)
        #expect(scan.log.count == 1 && scan.log[0].hasPrefix("warning \(fifo): record 4 at line 4"), "\(scan.log)")
    }

    @Test(arguments: [1, 6])
    func `T5: after this process was stopped, adapters stop at their last report before new records`(seconds: Int)
        throws
    {
        let scan = try CapturedScan(fifo, hasOwnTime: true)
        defer { scan.stop() }
        let writer = try Writer(fifo, scan)
        try writer.write(Log.sighting("5"))
        scan.drain()
        #expect(withoutTimes(scan.takeNotes()) == ["0: hci0 scans", "0: badge 1/-59 -60"])
        // It takes the place of a deadline of the engine.
        let deadline = scan.loop.makeTimer { _ in scan.drain() }
        try writer.write(Log.sighting("5"))
        scan.loop.set(deadline, at: scan.loop.now)
        try scan.turn(stoppedFor: seconds)
        let notes = withoutTimes(scan.takeNotes())
        #expect(notes.last == "0: badge 1/-59 -60")
        #expect(notes.dropLast() == (seconds == 6 ? ["interrupted: this process did not run for 6 s"] : []))
    }

    @Test func `L4: the end of a program that wrote before the FIFO was opened is noticed`() throws {
        let reader = try FileDescriptor.open(FilePath(fifo), .readOnly, options: .nonBlocking)
        do {
            let writer = try FileDescriptor.open(FilePath(fifo), .writeOnly)
            try writer.writeAll((Log.sighting("5") + "\n").utf8)
            try writer.close()
        }
        let scan = try CapturedScan(fifo)
        defer { scan.stop() }
        try reader.close()
        try scan.loop.turn(until: "the end is noticed") { scan.noted("has ended") }
        #expect(scan.reports == 1)
    }

    @Test func `a file that takes the place of the FIFO is not read`() throws {
        let scan = try CapturedScan(fifo)
        defer { scan.stop() }
        do {
            let writer = try Writer(fifo, scan)
            try writer.write(Log.sighting("5"))
            try FileManager.default.removeItem(atPath: fifo)
            _ = try scratch.log("fifo", [Log.sighting("6")])
        }
        try scan.loop.turn(until: "it is reported") { !scan.log.isEmpty }
        #expect(scan.log == ["warning \(fifo) can't be opened: its type has changed"])
        try FileManager.default.removeItem(atPath: fifo)
        try #require(mkfifo(fifo, 0o600) == 0)
        let writer = try Writer(fifo, scan)
        try writer.write(Log.sighting("7"))
        try scan.loop.turn(until: "it is received") { scan.reports == 2 }
    }

    @Test func `T5: a drain delivers everything that was written before it`() throws {
        let scan = try CapturedScan(fifo)
        defer { scan.stop() }
        let writer = try Writer(fifo, scan)
        // The loop takes no turn, so only the drain can deliver them.
        for count in 1...200 {
            try writer.write(Log.sighting("\(count)"))
            scan.drain()
            #expect(scan.reports == count)
        }
        try writer.write(Array(repeating: Log.report("300"), count: 300).joined(separator: "\n"))
        scan.drain()
        #expect(scan.reports == 500)
    }

    @Test func `T5: a drain of a FIFO that is written all the time ends`() throws {
        let scan = try CapturedScan(fifo)
        // It ends when the reader has closed the FIFO.
        let flood = try SpawnedProcess(
            "/bin/sh", ["-c", "exec yes \"$0\" > \"$1\"", Log.report("1"), fifo], errors: .null)
        for _ in 0..<20 {
            let before = scan.reports
            scan.drain()
            try scan.loop.turn(until: "more is received") { scan.reports > before }
        }
        scan.stop()
        #expect(flood.wait() != 0)
    }

    @Test func `L4: adapters stop when the program closes the FIFO, and scan again with the next program`() throws {
        let scan = try CapturedScan(fifo)
        defer { scan.stop() }
        for round in 1...3 {
            do {
                let writer = try Writer(fifo, scan)
                try writer.write(Log.sighting("5", adapter: "esp"))
            }
            try scan.loop.turn(until: "the adapter stops") { scan.reports == round && scan.noted("ended") }
            #expect(
                withoutTimes(scan.takeNotes()) == [
                    "0: esp scans", "0: badge 1/-59 -60", "end: \(fifo) has ended",
                ])
        }
        // A program that writes nothing changes nothing.
        _ = try Writer(fifo, scan)
        let writer = try Writer(fifo, scan)
        try writer.write(Log.sighting("5", adapter: "esp"))
        try scan.loop.turn(until: "it is received") { scan.reports == 4 }
        #expect(scan.log.isEmpty, "\(scan.log)")
    }

    @Test func `a program that writes no capture is reported once, and another one can follow`() throws {
        let scan = try CapturedScan(fifo)
        defer { scan.stop() }
        for _ in 0..<2 {
            do { try Writer(fifo, scan).write(Array(repeating: "no capture", count: 500).joined(separator: "\n")) }
            // The scanner closes the FIFO, and opens it again after a pause.
            try scan.loop.turn(until: "the FIFO is closed") { !hasReader() }
        }
        let writer = try Writer(fifo, scan)
        try writer.write(Log.sighting("5"))
        try scan.loop.turn(until: "it is received") { scan.reports == 1 }
        #expect(scan.log.count == 1)
        #expect(scan.log.first?.hasPrefix("warning \(fifo) starts with “no capture”") == true, "\(scan.log)")
        #expect(!scan.noted("stops"))
    }

    @Test func `a FIFO that was replaced before a program wrote to it is opened again`() async throws {
        let scan = try CapturedScan(fifo, hasOwnTime: true)
        defer { scan.stop() }
        try FileManager.default.removeItem(atPath: fifo)
        try #require(mkfifo(fifo, 0o600) == 0)
        #expect(!hasReader())
        try scan.go(to: 4.9)
        #expect(!hasReader())
        try scan.go(to: 5)
        #expect(hasReader())
        // Later it is missing, which is logged once, until it exists again.
        try FileManager.default.removeItem(atPath: fifo)
        for seconds in 10...20 { try scan.go(to: Double(seconds)) }
        #expect(scan.log == ["warning \(fifo) can't be opened: No such file or directory"])
        try #require(mkfifo(fifo, 0o600) == 0)
        try scan.go(to: 30)
        #expect(hasReader())
    }

    @Test func `damage is logged while the FIFO stays open`() throws {
        let scan = try CapturedScan(fifo)
        defer { scan.stop() }
        let writer = try Writer(fifo, scan)
        // It is logged although there is no valid record.
        try writer.write(#"{"time":1,"uuid":"x"}"#)
        try scan.loop.turn(until: "the first damage is logged") { !scan.log.isEmpty }
        #expect(scan.log.first?.hasPrefix("warning \(fifo): record 1 at line 1,") == true, "\(scan.log)")
        try writer.write(Log.sighting("0"), #"{"time":1,"uuid":"y"}"#, Log.sighting("2"))
        try scan.loop.turn(until: "it is logged") { scan.reports == 2 && scan.log.count == 2 }
        #expect(scan.log.last?.hasPrefix("warning \(fifo): record 3 at line 3,") == true)
        // After the first ones, only the number is logged, whenever it has doubled.
        try writer.write(Array(repeating: "{}", count: 100).joined(separator: "\n"), Log.sighting("3"))
        try scan.loop.turn(until: "the rest is read") { scan.reports == 3 }
        #expect(scan.log.count < 25, "\(scan.log)")
    }

    @Test func `a socket is connected as soon as a program listens, and again after its end`() throws {
        let path = scratch.path("socket")
        var listener: UnixSocket.Listener? = try UnixSocket.Listener(at: path)
        let scan = try CapturedScan(path)
        defer { scan.stop() }
        for round in 1...2 {
            var client: FileDescriptor?
            try scan.loop.turn(until: "it connects") {
                client = try client ?? listener?.accept()
                return client != nil
            }
            let descriptor = try #require(client)
            try descriptor.writeAll((Log.sighting("5") + "\n").utf8)
            try scan.loop.turn(until: "it is received") { scan.reports == round }
            if round == 1 { listener = nil }
            try descriptor.close()
            try scan.loop.turn(until: "the adapter stops") { scan.noted("\(path) has ended") }
            _ = scan.takeNotes()
            if round == 1 {
                try scan.loop.turn(until: "the missing program is reported") { !scan.log.isEmpty }
                listener = try UnixSocket.Listener(at: path)
            }
        }
        #expect(scan.log == ["warning no program listens at \(path)"])
    }

    @Test func `a program that writes more than the queue holds waits, and nothing is lost`() async throws {
        let origin = try CaptureOrigin(fifo, options: CaptureOptions())
        let stream = try CaptureStream(try #require(try origin.open()), origin)
        let thread = try stream.start()
        let count = 3 * CaptureStream.itemsMax
        let process = try SpawnedProcess(
            "/bin/sh",
            [
                "-c", "head -n \(count) < \"$0\" > \"$1\"",
                try scratch.write(
                    "log", String(repeating: Log.report("0") + "\n", count: count)), fifo,
            ])
        var received = 0
        for _ in 0..<2 {
            try await until("the queue is full", saw: "\(received)") { stream.isFull }
            #expect(process.isRunning)
            var taken = stream.take()
            #expect(taken.batch.items.count == CaptureStream.batchMax && taken.hasMore)
            received += taken.batch.items.count
            // The program can write more as soon as there is room.
            while taken.hasMore, received % CaptureStream.itemsMax != 0 {
                taken = stream.take()
                received += taken.batch.items.count
            }
        }
        try await until("all are received", saw: "\(received)") {
            received += stream.take().batch.items.count
            // The first item is the adapter.
            return received == count + 1
        }
        #expect(process.wait() == 0)
        stream.stop()
        thread.join()
    }
}
