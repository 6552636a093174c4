import Captures
import Foundation
import TestSupport
import Testing

@Suite struct GeneratedCaptureTests {
    @Test(arguments: Generated.formats, [1, 2, 3])
    func `B1, B2, B3: every format gives the generated sightings, in order`(format: String, seed: Int) throws {
        let capture = try Generated(format, reports: 2000, seed: seed, "--bad-crc", "0.1")
        let found = try contents(capture.bytes)
        #expect(found.sightings == capture.sightings)
        #expect(found.damages == [])
        #expect(found.malformations[.badCRC] ?? 0 == capture.statistics["badCRC"] as? Int ?? 0)
    }

    @Test(arguments: Generated.formats)
    func `all reports of an event are read`(format: String) throws {
        let capture = try Generated(format, reports: 1000, seed: 7, "--per-event", "6", "--extended-share", "0.5")
        let found = try contents(capture.bytes)
        #expect(found.sightings == capture.sightings)
        #expect(found.damages == [])
    }

    @Test(arguments: Generated.formats)
    func `T4: the records are the same for every size of the window`(format: String) throws {
        let capture = try Generated(format, reports: 150, seed: 5, "--per-event", "3")
        let whole = try contents(capture.bytes)
        #expect(whole.sightings == capture.sightings)
        for size in [1, 2, 3, 7, 13, 24, 101, 255, 256, 257, 1000] {
            #expect(try contents(capture.bytes, options: CaptureOptions(windowSize: size)) == whole, "window \(size)")
        }
    }

    @Test(arguments: RealCaptureTests.captures)
    func `T4: the records of a real capture are the same for every size of the window`(name: String) throws {
        let bytes = Array(try Fixtures.bytes(name).prefix(20_000))
        let whole = try contents(bytes)
        for size in [1, 100, 1021] {
            #expect(try contents(bytes, options: CaptureOptions(windowSize: size)) == whole, "window \(size)")
        }
    }

    @Test(arguments: Generated.formats)
    func `a capture truncated anywhere gives its complete records and at most one damage`(format: String) throws {
        let capture = try Generated(format, reports: 60, seed: 9)
        let whole = try contents(capture.bytes)
        var before = 0
        for length in 0..<min(capture.bytes.count, 4096) {
            let part: Contents
            do throws(CaptureError) {
                part = try contents(Array(capture.bytes.prefix(length)))
            } catch {
                #expect(before == 0)
                continue
            }
            #expect(part.damageTotal <= 1)
            // The records must be the first ones of the complete capture. Only a text format can lose the end of its
            // last line without an error.
            let isText = format == "hcidump"
            let sure = isText ? max(part.records.count - 1, 0) : part.records.count
            #expect(part.records.prefix(sure) == whole.records.prefix(sure), "length \(length)")
            #expect(whole.sightings.starts(with: part.sightings), "length \(length)")
            #expect(part.sightings.count >= before)
            before = part.sightings.count
        }
    }

    @Test(arguments: Generated.formats)
    func `randomly damaged captures never trap or hang`(format: String) throws {
        let count = environment("BEACON_CAPTURE_MUTATIONS", default: 300)
        var random = SeededGenerator(state: SeededGenerator.seed)
        let capture = try Generated(format, reports: 40, seed: 3, "--per-event", "3").bytes
        for _ in 0..<count {
            var bytes = capture
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 2: bytes.remove(at: index)
                case 3: bytes.insert(UInt8.random(in: 0...255, using: &random), at: index)
                default: bytes.removeSubrange(index..<min(bytes.count, index + Int.random(in: 1...40, using: &random)))
                }
                if bytes.isEmpty { bytes = [0] }
            }
            let size = [3, 61, 4096, 128 * 1024].randomElement(using: &random) ?? 64
            do throws(CaptureError) {
                _ = try contents(bytes, options: CaptureOptions(windowSize: size))
            } catch {
                #expect(!error.description.isEmpty)
            }
        }
    }
}
