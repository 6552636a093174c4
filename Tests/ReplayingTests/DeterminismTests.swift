import Captures
import Foundation
import GatewayConfiguration
import ProgramSupport
import Replaying
import Testing

/// Rule T4: the same input gives the same lines, byte for byte.
@Suite struct DeterminismTests {
    static let names = Fixtures.captures + [Fixtures.rooms[2]]

    @Test(arguments: names)
    func `T4: the lines are the same at any speed, compressed or not, from a file or a pipe`(name: String) throws {
        let arguments = Fixtures.arguments(for: name) + ["--settle"]
        let path = Fixtures.path(name)
        let whole = try Gateway.replay(arguments + [path])
        #expect(try Gateway.replay(arguments + ["--speed", "100000", path]).output == whole.output)
        var bytes = try contents(of: path)
        #expect(try Gateway.replay(arguments + ["-"], input: bytes).output == whole.output)
        if name.hasSuffix(".gz") { bytes = try Tool.pass(bytes, through: Tool.gzip, "-dc") }
        for tool in [Tool.gzip, Tool.zstd, Tool.xz, Tool.bzip2] {
            let packed = try Tool.pass(bytes, through: tool, "-qc")
            #expect(try Gateway.replay(arguments + ["-"], input: packed).output == whole.output)
        }
    }

    @Test(arguments: [1, 7, 64, 1000, 4099])
    func `T4: the lines are the same, whatever the size of the windows in which bytes are read`(size: Int) throws {
        let scratch = try Scratch()
        func lines(_ name: String, size: Int?) throws -> [UInt8] {
            var options = ReplayOptions(inputs: [ReplayOptions.Input(.path(Fixtures.path(name)))])
            if let size { options.windowSize = size }
            if name.hasPrefix("hcidump") { options.interval = .milliseconds(100) }
            options.settles = true
            let folder = scratch.path("\(name)-\(size ?? 0)")
            options.outputDirectory = folder
            _ = try Replay(options).run()
            return try contents(of: folder + "/current")
        }
        for name in ["hcidump-gimbal.raw", "android-gym-bike.btsnoop"] {
            #expect(try lines(name, size: size) == lines(name, size: nil), "\(name)")
        }
    }

    @Test func `T4: at any speed, an exit that is due between two records has its own time`() throws {
        let log = """
            {"time":1000,"rssi":-60,"uuid":"F7826DA64FA24E988024BC5B71E0893E","major":1,"minor":2,"measuredPower":-59}
            {"time":1100,"data":""}
            """
        let input = Array(log.utf8)
        let whole = try Gateway.replay(["-"], input: input)
        let paced = try Gateway.replay(["--speed", "100000", "-"], input: input)
        #expect(paced.output == whole.output)
        #expect(
            try Change.events(of: whole.lines).map(\.time)
                == [1_000_000_000, 1_000_000_000, 1_030_000_000, 1_030_000_000])
    }

}
