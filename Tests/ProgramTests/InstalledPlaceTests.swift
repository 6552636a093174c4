import Foundation
import ProgramSupport
import Testing

/// Paths in the output of `doctor`. Some depend on the path of the program.
@Suite struct InstalledPlaceTests {
    /// Runs `doctor` without the configuration of the machine.
    private func doctor(_ program: String) throws -> Ending {
        guard FileManager.default.fileExists(atPath: "/etc/beacon-gateway") else { return try run(program, ["doctor"]) }
        let hidden = "mount -t tmpfs tmpfs /etc/beacon-gateway && exec \"$0\" doctor"
        return try run(
            unshared: "--mount", "/bin/sh", ["-c", hidden, program])
    }

    @Test func `doctor reports neither standard input nor a file in a folder that it cannot search as missing`() throws
    {
        let input = try Gateway.run("doctor", "--config", "-", input: Array("conditions: 7\n".utf8))
        #expect(input.text.contains("→ beacon-gateway check -\n"), "\(input.text)")
        let scratch = try Scratch()
        let file = try scratch.write("gateway.yaml", "conditions: []\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: scratch.url.path)
        let closed = try Gateway.runWithoutRights(["doctor", "--config", file])
        #expect(closed.text.contains("→ beacon-gateway check \(file)\n"), "\(closed.text)")
    }

    @Test func `doctor names the sample below the PREFIX of the installed program`() throws {
        let scratch = try Scratch()
        let folder = scratch.url.appendingPathComponent("usr/bin")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let program = folder.appendingPathComponent("beacon-gateway").path
        try FileManager.default.copyItem(atPath: Gateway.path, toPath: program)
        // A file that does not exist is not named.
        let without = try doctor(program).text
        #expect(without.contains("→ create it with at least one condition: ") && !without.contains("share/doc"))
        let samples = scratch.url.appendingPathComponent("usr/share/doc/beacon-gateway")
        try FileManager.default.createDirectory(at: samples, withIntermediateDirectories: true)
        let sample = samples.appendingPathComponent("gateway.yaml").resolvingSymlinksInPath().path
        try Data().write(to: URL(fileURLWithPath: sample))
        let ending = try doctor(program)
        #expect(ending.text.contains("sudo install -D -m 644 \(sample) /etc/beacon-gateway/gateway.yaml"))
        // A program that was not installed names the sample in its source tree.
        for path in [".build/debug", "Config"] {
            try FileManager.default.createDirectory(
                at: scratch.url.appendingPathComponent(path), withIntermediateDirectories: true)
        }
        let built = scratch.url.appendingPathComponent(".build/debug/beacon-gateway").path
        try FileManager.default.copyItem(atPath: Gateway.path, toPath: built)
        #expect(try doctor(built).text.contains("→ create it with at least one condition: "))
        let sources = scratch.url.resolvingSymlinksInPath().path + "/Config/gateway.yaml"
        try Data().write(to: URL(fileURLWithPath: sources))
        #expect(try doctor(built).text.contains("644 \(sources) /etc/beacon-gateway/gateway.yaml"))
    }
}
