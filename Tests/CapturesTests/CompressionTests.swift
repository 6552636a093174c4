import Captures
import Foundation
import TestSupport
import Testing

/// Returns the output of a tool that reads `bytes` from its standard input.
func pipe(_ bytes: [UInt8], through tool: String, _ arguments: String...) throws -> [UInt8] {
    let input = Scratch()
    let output = Scratch()
    try Data(bytes).write(to: URL(fileURLWithPath: input.path))
    try execute("/bin/sh", ["-c", "\(tool) \(arguments.joined(separator: " ")) < \(input.path) > \(output.path)"])
    return try output.bytes
}

/// Returns the peak memory of this process, in KiB.
func peakMemory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(Int(line.split(whereSeparator: \.isWhitespace)[1]))
}

@Suite(.serialized) struct CompressionTests {
    @Test func `gzip is decompressed, also with several members and with zeros at the end`() throws {
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

    @Test func `truncated or corrupt gzip gives the data before the damage, and the damage is reported`() throws {
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

    @Test func `zstd is decompressed, also with several frames; truncated zstd gives complete blocks`() throws {
        let capture = try Generated("pcapng-201", reports: 500, seed: 1).bytes
        let whole = try contents(capture)
        let bytes = try pipe(capture, through: "zstd")
        for size in [1, 100, 128 * 1024] {
            #expect(try contents(bytes, options: CaptureOptions(windowSize: size)) == whole)
        }
        let half = capture.count / 2
        let frames = try pipe(Array(capture[..<half]), through: "zstd") + pipe(Array(capture[half...]), through: "zstd")
        #expect(try contents(frames) == whole)
        // A truncated frame of one block gives nothing. A truncated frame of several blocks must give the complete
        // ones.
        #expect(throws: CaptureError.self) { try contents(Array(bytes.dropLast(bytes.count / 2))) }
        let long = try Generated("pcapng-201", reports: 8000, seed: 1)
        let cut = try contents(Array(try pipe(long.bytes, through: "zstd").dropLast(100)))
        #expect(cut.damageTotal == 1)
        #expect(cut.sightings.count > 100)
        #expect(long.sightings.starts(with: cut.sightings))
    }

    @Test(arguments: [1, 100, 4096, 128 * 1024])
    func `zstd with a corrupt end gives the data before it, and the damage is reported`(windowSize: Int) throws {
        let options = CaptureOptions(windowSize: windowSize)
        // A frame of one block, and one of several. Each has a checksum of four bytes after the last block.
        for reports in [20, 4000] {
            let capture = try Generated("log", reports: reports, seed: 1)
            var bytes = try pipe(capture.bytes, through: "zstd", "--check")
            bytes[bytes.count - 1] ^= 0xFF
            let result = try contents(bytes, options: options)
            #expect(result.sightings == capture.sightings)
            #expect(result.damageTotal == 1)
            #expect(result.damages[0].reason.contains("checksum"))
        }
        // The blocks before a corrupt one must be read. A block has 128 KiB.
        let capture = try Generated("log", reports: 4000, seed: 1)
        var bytes = try pipe(capture.bytes, through: "zstd", "--no-check")
        bytes.removeLast(10)
        bytes += [UInt8](repeating: 0xFF, count: 10)
        let result = try contents(bytes, options: options)
        #expect(result.sightings.count > 500)
        #expect(capture.sightings.starts(with: result.sightings))
        #expect(result.damageTotal >= 1)
    }

    @Test func `zstd with a window of more than 128 MiB is refused, and the error has this limit`() throws {
        let scratch = Scratch()
        try execute("/bin/sh", ["-c", "head -c 1000 /dev/zero | zstd -q --ultra -22 --long=30 > \(scratch.path)"])
        #expect {
            _ = try CaptureReader(.path(scratch.path))
        } throws: { error in
            if case CaptureError.inflationFailed(_, let reason) = error { reason.contains("128 MiB") } else { false }
        }
    }

    @Test func `a gzip bomb raises the peak memory by less than 8 MiB`() throws {
        let scratch = Scratch()
        let size = environment("BEACON_CAPTURE_BOMB_MIB", default: 256)
        // The data are an object of a log and then spaces, so that all bytes must be read.
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
