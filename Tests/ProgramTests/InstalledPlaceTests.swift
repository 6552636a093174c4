import Foundation
import ProgramSupport
import Testing

/// Where the program lies, and what it says of it.
@Suite struct InstalledPlaceTests {
    @Test(
        .enabled(
            if: !FileManager.default.fileExists(atPath: "/etc/beacon-gateway/gateway.yaml"),
            "this machine has a configuration: nothing is missing"))
    func `doctor names the sample below the PREFIX that the program was installed below`() throws {
        let scratch = try Scratch()
        let folder = scratch.url.appendingPathComponent("usr/bin")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let program = folder.appendingPathComponent("beacon-gateway").path
        try FileManager.default.copyItem(atPath: Gateway.path, toPath: program)
        let ending = try run(program, ["doctor"])
        let sample = scratch.url.appendingPathComponent("usr/share/doc/beacon-gateway/gateway.yaml")
            .resolvingSymlinksInPath().path
        #expect(ending.text.contains("sudo install -D -m 644 \(sample) /etc/beacon-gateway/gateway.yaml"))
        // Not installed: what it was built from has one.
        #expect(try Gateway.run("doctor").text.contains("644 Config/gateway.yaml /etc/beacon-gateway/gateway.yaml"))
    }
}
