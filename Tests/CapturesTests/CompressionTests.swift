import Foundation
import Glibc
import TestSupport
import Testing

@testable import Captures

/// Returns the output of a tool that reads `bytes` from its standard input.
func pipe(_ bytes: [UInt8], through tool: String, _ arguments: String...) throws -> [UInt8] {
    let input = Scratch()
    let output = Scratch()
    try Data(bytes).write(to: URL(fileURLWithPath: input.path))
    try execute("/bin/sh", ["-c", "\(tool) \(arguments.joined(separator: " ")) < \(input.path) > \(output.path)"])
    return try output.bytes
}

/// Returns the result of `body` for the path of a pipe. The first twelve calls of read(2) return one byte each.
func withBytewisePipe<Result>(_ bytes: [UInt8], _ body: (String) throws -> Result) throws -> Result {
    var ends: [Int32] = [-1, -1]
    // With O_DIRECT, read(2) returns the bytes of one write(2). The pipe has room for 16 of them.
    try #require(Glibc.pipe(&ends) == 0 && fcntl(ends[1], F_SETFL, __O_DIRECT) == 0)
    defer { close(ends[0]) }
    for byte in bytes.prefix(12) { #expect(write(ends[1], [byte], 1) == 1) }
    let rest = Array(bytes.dropFirst(12))
    #expect(rest.count <= PIPE_BUF && write(ends[1], rest, rest.count) == rest.count)
    close(ends[1])
    return try body("/proc/self/fd/\(ends[0])")
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

    @Test(arguments: ["xz", "bzip2"])
    func `xz and bzip2 are decompressed, also with several streams, of which one is empty`(tool: String) throws {
        let capture = try Generated("btsnoop-monitor", reports: 500, seed: 1).bytes
        let whole = try contents(capture)
        let half = capture.count / 2
        let first = try pipe(Array(capture[..<half]), through: tool) + pipe([], through: tool)
        let second = try pipe(Array(capture[half...]), through: tool)
        for bytes in [try pipe(capture, through: tool), first + second] {
            for size in [1, 100, 128 * 1024] {
                #expect(try contents(bytes, options: CaptureOptions(windowSize: size)) == whole)
            }
        }
        #expect(throws: CaptureError.empty(path: "test")) { try contents(try pipe([], through: tool)) }
        // The format xz has padding: zeros after a stream, in multiples of four.
        for count in tool == "xz" ? [1, 4, 511, 512] : [] {
            let padding = [UInt8](repeating: 0, count: count)
            for (bytes, reason) in [
                (first + second + padding, "the xz data are corrupt: wrong padding"),
                (first + padding + second, "data that is not xz follows the compressed data"),
            ] {
                let result = try contents(bytes)
                #expect((result == whole) == (count % 4 == 0))
                #expect(result.damages.allSatisfy { $0.reason.contains(reason) })
            }
        }
    }

    @Test(arguments: ["xz", "bzip2"])
    func `truncated xz or bzip2 gives the data before the damage, and the damage is reported`(tool: String) throws {
        let short = try Generated("log", reports: 20, seed: 1)
        let packed = try pipe(short.bytes, through: tool)
        for count in 10..<packed.count {
            do throws(CaptureError) {
                let cut = try contents(Array(packed[..<count]))
                #expect(cut.damages.map(\.reason) == ["the \(tool) data are truncated (byte \(count) of the file)"])
                #expect(short.sightings.starts(with: cut.sightings))
            } catch {
                let reason = "the \(tool) data are truncated (byte \(count) of the file)"
                #expect(error == .inflationFailed(path: "test", reason))
            }
        }
        let long = try Generated("log", reports: 2000, seed: 1)
        let cut = try contents(Array(try pipe(long.bytes, through: tool, "-1").dropLast(100)))
        #expect(cut.damages.map(\.reason).contains { $0.contains("truncated") })
        #expect(cut.sightings.count > 500)
        #expect(long.sightings.starts(with: cut.sightings))
    }

    @Test(arguments: ["xz", "bzip2"], [1, 100, 128 * 1024])
    func `corrupt xz or bzip2 gives the data before the damage, and the damage is reported`(
        tool: String, windowSize: Int
    ) throws {
        let options = CaptureOptions(windowSize: windowSize)
        let capture = try Generated("log", reports: 2000, seed: 1)
        // Blocks of 100 kB, each with a checksum.
        let bytes = try pipe(capture.bytes, through: tool, tool == "xz" ? "--block-size=100000" : "-1")
        var corrupt = bytes
        corrupt[bytes.count / 2] ^= 0xFF
        let block = try contents(Array(capture.bytes[..<100_000]))
        let result = try contents(corrupt, options: options)
        #expect(block.sightings.count > 100)
        #expect(result.sightings.starts(with: block.sightings))
        #expect(result.damageTotal >= 1)
        corrupt = bytes
        corrupt[bytes.count - 1] ^= 0xFF
        let end = try contents(corrupt, options: options)
        #expect(end.sightings == capture.sightings)
        #expect(end.damages.map(\.reason) == ["the \(tool) data are corrupt (byte \(bytes.count) of the file)"])
        // bzip2(1) warns of zeros too. The last texts start with the first byte of a stream.
        let zeros = "\0\0\0\0\0\0\0"
        for garbage in tool == "xz" ? ["garbage", "\u{FD}arbage 1234"] : ["garbage", "Bgarbage", zeros] {
            let more = garbage.unicodeScalars.map { UInt8($0.value) }
            let result = try contents(bytes + more, options: options)
            #expect(result.sightings == capture.sightings)
            #expect(result.damageTotal == 1)
            #expect(result.damages[0].reason.hasPrefix("data that is not \(tool) follows the compressed data (byte "))
        }
    }

    @Test(arguments: ["gzip", "xz", "bzip2"], [1, 100, 128 * 1024])
    func `the error for a text of an unknown format does not depend on damage after its first 4 KiB`(
        tool: String, windowSize: Int
    ) throws {
        let options = CaptureOptions(windowSize: windowSize)
        for isLong in [false, true] {
            var bytes = try pipe(Array(String(repeating: "unknown\n", count: isLong ? 700 : 500).utf8), through: tool)
            bytes[bytes.count - 1] ^= 0xFF
            let error = try #require(throws: CaptureError.self) { try contents(bytes, options: options) }
            let description = isLong ? "starts with “unknown”" : "can't be decompressed: the \(tool) data are corrupt"
            #expect(error.description.contains(description))
        }
    }

    @Test func `an xz chunk with a wrong length gives the same bytes with windows of any size`() throws {
        let capture = try Generated("log", reports: 20, seed: 1)
        var bytes = try pipe(capture.bytes, through: "xz")
        // The length of the compressed bytes of the first chunk, in big-endian order, follows two headers of 12 bytes, the
        // kind and the length of the decompressed bytes. liblzma checks it only at the end of a call.
        try #require(bytes[27] > 0)
        bytes[27] -= 1
        let results = try [1, 100, 128 * 1024].map { size in
            try contents(bytes, options: CaptureOptions(windowSize: size))
        }
        #expect(results.allSatisfy { $0 == results[0] })
        #expect(!results[0].sightings.isEmpty)
        #expect(capture.sightings.starts(with: results[0].sightings))
        #expect(results[0].damages.contains { $0.reason.contains("the xz data are corrupt") })
    }

    @Test(arguments: [1, 7, 100, 128 * 1024])
    func `a bzip2 block that ends in a run of bytes without a length gives the bytes before it`(windowSize: Int) throws
    {
        // {"data":""}, a line feed and four spaces. Their number follows in a valid block.
        let bytes: [UInt8] = [
            0x42, 0x5A, 0x68, 0x31, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x59,
            0x80, 0x00, 0x10, 0x50, 0x00, 0x00, 0x10, 0x24, 0x00, 0x04, 0x0A, 0x20, 0x00, 0x22, 0x00, 0x02, 0x00, 0x09,
            0x23, 0x15, 0x69, 0x70, 0x99, 0x35, 0x73, 0xA0,
        ]
        let result = try contents(bytes, options: CaptureOptions(windowSize: windowSize))
        #expect(result.records.count == 1)
        #expect(result.damages.map(\.reason) == ["the bzip2 data are corrupt (byte 44 of the file)"])
    }

    @Test func `xz with a dictionary of more than 128 MiB is refused, and the error has this limit`() throws {
        let capture = try Generated("log", reports: 20, seed: 1)
        for option in ["-9", "--lzma2=preset=0,dict=128MiB"] {
            #expect(try contents(try pipe(capture.bytes, through: "xz", option)).sightings == capture.sightings)
        }
        for size in [192, 256] {
            let bytes = try pipe(capture.bytes, through: "xz", "--lzma2=preset=0,dict=\(size)MiB")
            let error = try #require(throws: CaptureError.self) { try contents(bytes) }
            let reason = "the xz data need a dictionary of more than 128 MiB; compress them again with xz -9"
            #expect(error.description.hasPrefix("test can't be decompressed: \(reason) (byte "))
        }
    }

    @Test(
        arguments: [
            (
                [0, 2, 0xD3, 0x73, 0xD7, 0xAF],
                "the xz data have a checksum that liblzma does not support (byte 12 of the file)"
            ),
            (
                [0, 4, 0xE6, 0xD6, 0xB4, 0x46, 2, 0, 0x7F, 0, 0, 0, 0, 0, 0, 0x67, 0x73, 0xDD],
                "the xz data need a filter or an option that liblzma does not support (byte 24 of the file)"
            ),
        ] as [([UInt8], String)])
    func `xz with an unknown checksum or filter is refused, and the error has the reason`(
        header: [UInt8], reason: String
    ) throws {
        let bytes = [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0] + header + [UInt8](repeating: 0, count: 20)
        #expect(throws: CaptureError.inflationFailed(path: "test", reason)) { try contents(bytes) }
    }

    @Test(arguments: [("gzip", "zcat"), ("zstd", "zstdcat"), ("xz", "xzcat"), ("bzip2", "bzcat")])
    func `a compression is recognised if a pipe delivers one byte at a time`(tool: String, command: String) throws {
        let capture = try Generated("log", reports: 5, seed: 1)
        let sightings = try withBytewisePipe(try pipe(capture.bytes, through: tool)) { path in
            try contents(.path(path)).sightings
        }
        #expect(sightings == capture.sightings)
        let source = try ByteSource(.bytes(try pipe([], through: tool), name: "empty"))
        try source.recogniseCompression()
        #expect(source.decompressor == command)
    }

    @Test(arguments: [("{\"time\":1}", 1), ("(zst", 2), ("BZip", 3), ("BZh0", 4), ("BZh91AY&SX", 10), ("BZh9", 4)])
    func `no more bytes are read than are needed to recognise a compression`(text: String, count: Int) throws {
        try withBytewisePipe(Array(text.utf8)) { path in
            let source = try ByteSource(.path(path))
            try source.recogniseCompression()
            #expect(source.position == count)
            #expect(source.decompressor == nil)
        }
    }

    @Test(arguments: [("gzip -1", 256), ("xz -0", 96), ("bzip2 -1", 96)])
    func `a decompression bomb raises the peak memory by less than 8 MiB`(tool: String, mebibytes: Int) throws {
        let scratch = Scratch()
        let size = environment("BEACON_CAPTURE_BOMB_MIB", default: mebibytes)
        // The data are an object of a log and then spaces, so that all bytes must be read.
        try execute(
            "/bin/sh",
            [
                "-c",
                "(printf '{\"data\":\"\"}'; head -c \(size << 20) /dev/zero | tr '\\0' ' ') | \(tool) > \(scratch.path)",
            ])
        let before = try peakMemory()
        var reader = try CaptureReader(.path(scratch.path))
        var count = 0
        while try reader.next() != nil { count += 1 }
        #expect(count == 1)
        #expect(try peakMemory() - before < 8 * 1024)
    }
}
