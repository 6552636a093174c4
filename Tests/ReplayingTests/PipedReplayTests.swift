import Foundation
import ProgramSupport
import TestSupport
import Testing

/// A replay of standard input while another program still writes to it.
@Suite struct PipedReplayTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    /// A replay whose input and output the test sees.
    private struct Piped {
        let process: SpawnedProcess
        let output: String

        init(_ arguments: [String], in scratch: Scratch) throws {
            output = try scratch.write("out", "")
            process = try SpawnedProcess(
                Gateway.path, ["replay"] + arguments, input: .pipe, output: .file(output), errors: .file("/dev/null"))
        }

        func write(_ bytes: some Sequence<UInt8>) throws { try process.input?.write(contentsOf: Data(bytes)) }
        func written() throws -> [UInt8] { try contents(of: output) }
        var size: String { (try? written()).map { "\($0.count) bytes" } ?? "no file" }
    }

    @Test(arguments: MadeCapture.formats)
    func `the lines of a part are written before the next part arrives`(format: String) async throws {
        let made = try MadeCapture(format, seed: 20_261_201, reports: 200)
        let bytes = try contents(of: made.path)
        let half = bytes.prefix(bytes.count / 2)
        let expected = try Gateway.run("replay", "--sightings", "--lenient", try scratch.write("half", half)).output
        #expect(!expected.isEmpty)
        let piped = try Piped(["--sightings", "-"], in: scratch)
        try piped.write(half)
        try await until("the lines of the part are written", saw: piped.size) {
            try piped.written().count >= expected.count
        }
        #expect(try piped.written() == expected)
        try piped.write(bytes.dropFirst(half.count))
        try piped.process.input?.close()
        #expect(piped.process.wait() == 0)
        #expect(try piped.written() == Gateway.run("replay", "--sightings", try scratch.write("all", bytes)).output)
    }

    @Test func `an event is written although the next object is incomplete`() async throws {
        let piped = try Piped(["-"], in: scratch)
        try piped.write((Log.sighting("0") + "\n" + #"{"time":"#).utf8)
        try await until("the event is written", saw: piped.size) {
            try String(decoding: piped.written(), as: UTF8.self).contains(#""state":"satisfied""#)
        }
        #expect(piped.process.end() == -SIGTERM)
    }

    @Test func `a replay whose reader has gone ends without waiting for more records`() async throws {
        let process = try SpawnedProcess(
            "/bin/sh", ["-c", "exec 3>&1; \"$0\" replay - | true; echo ended >&3", Gateway.path], input: .pipe,
            output: .file(try scratch.write("out", "")), errors: .file("/dev/null"))
        try process.input?.write(contentsOf: Data((Log.sighting("0") + "\n").utf8))
        #expect(process.wait() == 0)
        withExtendedLifetime(process.input) {}
    }
}
