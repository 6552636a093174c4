import Captures
import Foundation
import TestSupport
import Testing

/// What a tool makes of bytes that are piped through it.
func pipe(_ bytes: [UInt8], through tool: String, _ arguments: String...) throws -> [UInt8] {
    let input = Scratch()
    let output = Scratch()
    try Data(bytes).write(to: URL(fileURLWithPath: input.path))
    try execute("/bin/sh", ["-c", "\(tool) \(arguments.joined(separator: " ")) < \(input.path) > \(output.path)"])
    return try output.bytes
}

/// The most memory that this process ever had, in KiB.
func peakMemory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(Int(line.split(whereSeparator: \.isWhitespace)[1]))
}

@Suite(.serialized) struct CompressionTests {
    @Test func `gzip, of several members and padded with zeros, is read as what it holds`() throws {
        let capture = try Generated("btsnoop-monitor", reports: 500, seed: 1).bytes
        let whole = try contents(capture)
        let half = capture.count / 2
        let members =
            try pipe(Array(capture[..<half]), through: "gzip") + pipe(Array(capture[half...]), through: "gzip")
        for bytes in [try pipe(capture, through: "gzip"), members, members + [UInt8](repeating: 0, count: 512)] {
            for size in [1, 100, 128 * 1024] {
                #expect(try contents(bytes, options: CaptureOptions(windowSize: size)) == whole)
            }
        }
    }

    @Test func `gzip that is cut off or corrupt gives what is whole and says so`() throws {
        let capture = try Generated("log", reports: 2000, seed: 1)
        let bytes = try pipe(capture.bytes, through: "gzip")
        let cut = try contents(Array(bytes.dropLast(bytes.count / 2)))
        #expect(cut.damageTotal == 1)
        #expect(cut.damages[0].reason.contains("truncated"))
        #expect(cut.sightings.count > 100)
        #expect(capture.sightings.starts(with: cut.sightings))
        var corrupt = bytes
        corrupt[bytes.count / 2] ^= 0xFF
        #expect(try contents(corrupt).damageTotal >= 1)
        let garbage = try contents(bytes + Array("garbage".utf8))
        #expect(garbage.sightings == capture.sightings)
        #expect(garbage.damages.map(\.reason).contains { $0.contains("not gzip") })
    }

    @Test func `zstd is read as what it holds`() throws {
        let capture = try Generated("pcapng-201", reports: 500, seed: 1).bytes
        let whole = try contents(capture)
        let bytes = try pipe(capture, through: "zstd")
        for size in [1, 100, 128 * 1024] {
            #expect(try contents(bytes, options: CaptureOptions(windowSize: size)) == whole)
        }
        let half = capture.count / 2
        let frames = try pipe(Array(capture[..<half]), through: "zstd") + pipe(Array(capture[half...]), through: "zstd")
        #expect(try contents(frames) == whole)
        // Of a frame that is one block, nothing can be had before its end; of one that is several, what is whole is.
        #expect(throws: CaptureError.self) { try contents(Array(bytes.dropLast(bytes.count / 2))) }
        let long = try Generated("pcapng-201", reports: 8000, seed: 1)
        let cut = try contents(Array(try pipe(long.bytes, through: "zstd").dropLast(100)))
        #expect(cut.damageTotal == 1)
        #expect(cut.sightings.count > 100)
        #expect(long.sightings.starts(with: cut.sightings))
    }

    @Test(arguments: [1, 100, 4096, 128 * 1024])
    func `zstd with a corrupt end gives what is whole before it and says so`(windowSize: Int) throws {
        let options = CaptureOptions(windowSize: windowSize)
        // A frame of one block, and one of several, with a checksum of four bytes behind the last.
        for reports in [20, 4000] {
            let capture = try Generated("log", reports: reports, seed: 1)
            var bytes = try pipe(capture.bytes, through: "zstd", "--check")
            bytes[bytes.count - 1] ^= 0xFF
            let result = try contents(bytes, options: options)
            #expect(result.sightings == capture.sightings)
            #expect(result.damageTotal == 1)
            #expect(result.damages[0].reason.contains("checksum"))
        }
        // What stands in the blocks before a corrupt one; a block holds 128 KiB.
        let capture = try Generated("log", reports: 4000, seed: 1)
        var bytes = try pipe(capture.bytes, through: "zstd", "--no-check")
        bytes.removeLast(10)
        bytes += [UInt8](repeating: 0xFF, count: 10)
        let result = try contents(bytes, options: options)
        #expect(result.sightings.count > 500)
        #expect(capture.sightings.starts(with: result.sightings))
        #expect(result.damageTotal >= 1)
    }

    @Test func `zstd that looks back too far is refused with what to do`() throws {
        let scratch = Scratch()
        try execute("/bin/sh", ["-c", "head -c 1000 /dev/zero | zstd -q --ultra -22 --long=30 > \(scratch.path)"])
        #expect {
            _ = try CaptureReader(.path(scratch.path))
        } throws: { error in
            if case CaptureError.inflationFailed(_, let reason) = error { reason.contains("128 MiB") } else { false }
        }
    }

    @Test func `a gzip bomb costs time only`() throws {
        let scratch = Scratch()
        let size = environment("BEACON_CAPTURE_BOMB_MIB", default: 256)
        // A log's brace and then blanks, so that all of it is looked at.
        try execute(
            "/bin/sh",
            [
                "-c",
                "(printf '{\"data\":\"\"}'; head -c \(size << 20) /dev/zero | tr '\\0' ' ') | gzip -1 > \(scratch.path)",
            ])
        let before = try peakMemory()
        var reader = try CaptureReader(.path(scratch.path))
        var count = 0
        while try reader.next() != nil { count += 1 }
        #expect(count == 1)
        #expect(try peakMemory() - before < 8 * 1024)
    }
}
