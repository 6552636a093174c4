import ProgramSupport
import Testing

/// Rule L4 with several files.
@Suite struct SeveralFilesTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    private func sightings(_ arguments: String...) throws -> [String] {
        try Gateway.replay(["--sightings"] + arguments).lines.map { line in
            let object = try object(line)
            return "\(try microseconds(of: object["time"] as? String ?? "") / 1_000_000) \(object["adapter"] ?? "")"
        }
    }

    @Test func `L4: files are merged by time; records with the same time are in the order of the files`() throws {
        let a = try scratch.log("a", ["1", "3", "4"].map { Log.sighting($0) })
        let b = try scratch.log("b", ["2", "3", "3", "5"].map { Log.sighting($0, adapter: "hci7") })
        #expect(
            try sightings("lobby=\(a)", b)
                == ["1 lobby/hci0", "2 hci7", "3 lobby/hci0", "3 hci7", "3 hci7", "4 lobby/hci0", "5 hci7"])
        #expect(
            try sightings("hall=\(b)", a)
                == ["1 hci0", "2 hall/hci7", "3 hall/hci7", "3 hall/hci7", "3 hci0", "4 hci0", "5 hall/hci7"])
    }

    @Test func `L4, T2: the records of a file keep their order`() throws {
        let a = try scratch.log("a", ["10", "4", "11"].map { Log.sighting($0) })
        let b = try scratch.log("b", ["5", "10"].map { Log.sighting($0, adapter: "hci7") })
        #expect(try sightings(a, b) == ["5 hci7", "10 hci0", "4 hci0", "10 hci7", "11 hci0"])
    }

    @Test func `L4: an adapter scans from its first record in a file to its last there, and again in the next`()
        throws
    {
        let a = try scratch.log("a", [Log.sighting("0"), Log.report("10")])
        let b = try scratch.log("b", [Log.report("50"), Log.report("100")])
        let lines = try Gateway.replay([a, b]).lines
        #expect(
            try ShortLines(lines, "adapter").lines == ["0.0 hci0 listening", "10.0 hci0 off", "50.0 hci0 listening"])
        // Ten seconds of silence count in the first file, so twenty are left in the second.
        #expect(
            try ShortLines(lines, "event").lines.filter { $0.hasSuffix("unsatisfied") }
                == ["70.0 \(Log.uuid) unsatisfied", "70.0 \(Log.uuid) unsatisfied"])
        let reasons = try payloads(lines, type: "adapter").compactMap { $0["reason"] as? String }
        #expect(reasons == ["first record", "last record", "first record"])
    }

    @Test func `L4, L1: an adapter of another name in another file causes no exit`() throws {
        let a = try scratch.log("a", [Log.sighting("0"), Log.report("10")])
        let b = try scratch.log("b", [Log.report("40"), Log.report("69.999999"), Log.report("70")])
        let lines = try Gateway.replay(["lobby=\(a)", "hall=\(b)"]).lines
        #expect(
            try ShortLines(lines, "adapter").lines
                == ["0.0 lobby/hci0 listening", "10.0 lobby/hci0 off", "40.0 hall/hci0 listening"])
        // Rule L2: the only holder stopped sixty seconds ago.
        #expect(
            try ShortLines(lines, "event").lines.filter { !$0.hasPrefix("0.0") }.allSatisfy {
                $0 == "70.0 \(Log.uuid) unknown"
            })
        #expect(try payloads(lines, type: "visit").isEmpty)
    }

    @Test func `L4: an adapter that is in two files at once stops when both have ended`() throws {
        let a = try scratch.log("a", [Log.sighting("0"), Log.report("20")])
        let b = try scratch.log("b", [Log.report("10"), Log.report("25")])
        let c = try scratch.log("c", [Log.report("40", adapter: "hci1"), Log.report("41", adapter: "hci1")])
        #expect(
            try ShortLines(try Gateway.replay([a, b, c]).lines, "adapter").lines
                == ["0.0 hci0 listening", "25.0 hci0 off", "40.0 hci1 listening"])
    }

    @Test func `L4: a file that starts when another ends leaves no gap`() throws {
        let a = try scratch.log("a", [Log.sighting("0"), Log.report("10")])
        let b = try scratch.log("b", [Log.report("10"), Log.report("25")])
        #expect(try ShortLines(try Gateway.replay([a, b]).lines, "adapter").lines == ["0.0 hci0 listening"])
    }

    @Test func `an argument with a slash before its = is a file name`() throws {
        let path = try scratch.log("x=1", [Log.sighting("1")])
        #expect(try sightings(path) == ["1 hci0"])
    }

    @Test(
        arguments: [
            (["x=a"], "x=a", "1 hci0"), (["x=a", "a"], "x=a", "2 x/hci0"), (["a"], "x=a", "2 x/hci0"),
            (["x=a", "a"], "./x=a", "1 hci0"), (["x=-"], "x=-", "3 x/hci0"), (["=a", "a"], "=a", "4 hci0"),
        ] as [([String], String, String)])
    func `an argument with = is a file name if only that file exists`(
        files: [String], argument: String, sighting: String
    ) throws {
        let times = ["x=a": "1", "a": "2", "x=-": "5", "=a": "4"]
        for file in files { _ = try scratch.write(file, Log.sighting(try #require(times[file])) + "\n") }
        let ending = try run(
            "/bin/sh", ["-c", "cd '\(scratch.url.path)' && exec '\(Gateway.path)' replay --sightings '\(argument)'"],
            input: Array("\(Log.sighting("3"))\n".utf8))
        #expect(ending.status == 0, "\(ending.errors)")
        let line = try object(ending.text)
        let seconds = try microseconds(of: try #require(line["time"] as? String)) / 1_000_000
        #expect("\(seconds) \(line["adapter"] ?? "")" == sighting)
    }

    @Test func `if neither file of an argument with = exists, the error has the file after it`() throws {
        let ending = try Gateway.run("replay", "x=\(scratch.path("none"))")
        #expect(ending.status == 66)
        #expect(ending.errors == "\(scratch.path("none")) can't be opened: No such file or directory\n")
    }
}
