import BaseTypes
import BluetoothLE
import Captures
import Foundation
import ProgramSupport
import TestSupport
import Testing

/// Captures that are truncated, damaged or malicious. `BEACON_CUTS` and `BEACON_MUTATIONS` set how many variants of
/// each capture are tried. `BEACON_SEED` selects them.
@Suite struct HostileCaptureTests {
    static let seed = SeededGenerator.seed
    // The long captures all have the same format. If `BEACON_CUTS` is above 8, all of them are tried, else one.
    static let names =
        Fixtures.captures
        + (environment("BEACON_CUTS", default: 8) > 8 ? Fixtures.rooms : [Fixtures.rooms[2]])

    /// Counts the reports of a reader.
    private struct Counter: ReportHandler {
        var reports = 0
        mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {
            reports += 1
        }
        mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {}
    }

    /// Reads a capture to its end, as a replay does. The test is that this returns or throws.
    private func read(_ bytes: [UInt8]) throws -> (reports: Int, isWhole: Bool) {
        let fields = try FieldMap(Fixtures.roomFields)
        do throws(CaptureError) {
            var reader = try CaptureReader(
                .bytes(bytes, name: "test"), options: CaptureOptions(fields: fields, windowSize: 4096))
            var decoder = ReportDecoder()
            var counter = Counter()
            while let record = try reader.next() { decoder.decode(record, in: reader.window.span, to: &counter) }
            decoder.flush(to: &counter)
            return (counter.reports, reader.damages.isEmpty)
        } catch {
            #expect(!error.description.isEmpty)
            return (0, false)
        }
    }

    @Test(arguments: names)
    func `a capture that is cut anywhere gives no more reports than the whole one, and ends`(name: String) throws {
        let bytes = try Fixtures.bytes(name)
        let whole = try read(bytes)
        #expect(whole.isWhole)
        var random = SeededGenerator(state: Self.seed)
        // Every byte of the first 4 KiB would take minutes in a debug build, so by default it is every 23rd.
        let stride = max(1, environment("BEACON_CUT_STRIDE", default: 23))
        var cuts = Array(Swift.stride(from: 0, through: min(4096, bytes.count), by: stride))
        // There are only a few cuts in the whole capture, because reading up to a late cut takes time.
        for _ in 0..<environment("BEACON_CUTS", default: 8) {
            cuts.append(Int.random(in: 0...bytes.count, using: &random))
        }
        for cut in cuts {
            let part = try read(Array(bytes[..<cut]))
            #expect(part.reports <= whole.reports, "seed \(Self.seed), cut at \(cut)")
        }
    }

    @Test(arguments: names)
    func `reading a capture that is damaged anywhere ends, with or without an error`(name: String) throws {
        var random = SeededGenerator(state: Self.seed)
        // The start of a capture decides how the rest is read, and a small part of the rest is enough for errors.
        let bytes = Array(try Fixtures.bytes(name).prefix(6000))
        for _ in 0..<environment("BEACON_MUTATIONS", default: 150) {
            _ = try read(mutated(bytes, using: &random))
        }
    }

    private func mutated(_ bytes: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            // Half of the changes are near the start, in the headers.
            let end = Bool.random(using: &random) ? min(64, bytes.count) : bytes.count
            let place = Int.random(in: 0..<end, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: bytes[place] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF].randomElement(using: &random) ?? 0
            case 2: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 40)], at: place)
            case 3: bytes.removeSubrange(place..<min(bytes.count - 1, place + 13))
            default:
                for index in place..<min(bytes.count, place + 4) { bytes[index] = .random(in: 0...255, using: &random) }
            }
        }
        return bytes
    }

    @Test(arguments: names)
    func `a replay of a truncated or damaged capture ends with 0, or with 65 and a message`(name: String) throws {
        var random = SeededGenerator(state: Self.seed)
        let bytes = Array(try Fixtures.bytes(name).prefix(20_000))
        for round in 0..<environment("BEACON_RUNS", default: 6) {
            let hurt =
                round % 2 == 0
                ? Array(bytes[..<Int.random(in: 0..<bytes.count, using: &random)]) : mutated(bytes, using: &random)
            let ending = try Gateway.run(
                ["replay", "--settle", "--interval", "100ms", "--stats", "-"]
                    + (name.hasPrefix("rooms") ? ["--fields", Fixtures.roomFields] : []), input: hurt)
            #expect(!ending.wasKilled, "seed \(Self.seed), round \(round): \(ending.errors)")
            #expect([0, 65].contains(ending.status), "seed \(Self.seed), round \(round): \(ending.errors)")
            // The messages, without the statistics, which have a line of their own.
            let said = ending.errors.split(separator: "\n").filter { !$0.hasPrefix("{") }
            #expect((ending.status == 65) == said.contains { $0.contains("standard input") })
        }
    }

    @Test func `a log whose times jump to the bounds can be replayed with --lenient`() throws {
        let log = ["0", "9223372036", "\"9999-12-31T23:59:59Z\"", "1e300", "-5", "\"0001-01-01T00:00:00Z\"", "12"]
            .map { Log.sighting($0) }.joined(separator: "\n")
        let ending = try Gateway.run("replay", "--lenient", "--settle", "--stats", "-", input: Array(log.utf8))
        #expect(!ending.wasKilled)
        #expect(ending.status == 0, "\(ending.errors)")
        #expect(try payloads(ending.lines, type: "event").count >= 2)
    }

    @Test func `a gzip bomb takes time, but less than 100 MiB, and a larger one less than 8 MiB more`() throws {
        let scratch = try Scratch()
        func peak(mebibytes: Int) throws -> Int {
            let bomb = scratch.path("\(mebibytes).gz")
            // The start of a JSON object and then spaces, all of which a reader must check.
            let made = try run(
                "/bin/sh",
                [
                    "-c",
                    "(printf '{\"time\":1'; head -c \(mebibytes << 20) /dev/zero | tr '\\0' ' '; printf '}') | gzip -1 > '\(bomb)'",
                ])
            try #require(made.status == 0)
            // The peak memory of the child process in KiB. Python starts it, because Python itself is small.
            let ending = try run(
                Tool.python,
                [
                    "-c",
                    "import resource,subprocess,sys; subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL); "
                        + "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)",
                    Gateway.path, "replay", "--lenient", "--sightings", bomb,
                ])
            return try #require(Int(ending.text.trimmingCharacters(in: .whitespacesAndNewlines)))
        }
        let small = try peak(mebibytes: 4)
        let large = try peak(mebibytes: environment("BEACON_BOMB_MIB", default: 96))
        #expect(large - small < 8 * 1024, "\(small) KiB, then \(large) KiB")
        #expect(large < 100 * 1024)
    }
}
