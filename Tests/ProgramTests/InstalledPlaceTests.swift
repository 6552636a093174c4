import Foundation
import ProgramSupport
import Testing

/// Where the program lies, and what it says of it.
@Suite struct InstalledPlaceTests {
    /// Runs `doctor` without the machine's configuration.
    private func doctor(_ program: String) throws -> Ending {
        guard FileManager.default.fileExists(atPath: "/etc/beacon-gateway") else { return try run(program, ["doctor"]) }
        let hidden = "mount -t tmpfs tmpfs /etc/beacon-gateway && exec \"$0\" doctor"
        return try run(
            unshared: "--mount", "/bin/sh", ["-c", hidden, program])
    }

    @Test func `doctor names the sample below the PREFIX that the program was installed below`() throws {
        let scratch = try Scratch()
        let folder = scratch.url.appendingPathComponent("usr/bin")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let program = folder.appendingPathComponent("beacon-gateway").path
        try FileManager.default.copyItem(atPath: Gateway.path, toPath: program)
        let ending = try doctor(program)
        let sample = scratch.url.appendingPathComponent("usr/share/doc/beacon-gateway/gateway.yaml")
            .resolvingSymlinksInPath().path
        #expect(ending.text.contains("sudo install -D -m 644 \(sample) /etc/beacon-gateway/gateway.yaml"))
        // Not installed: what it was built from has one.
        #expect(try doctor(Gateway.path).text.contains("644 Config/gateway.yaml /etc/beacon-gateway/gateway.yaml"))
    }
}
