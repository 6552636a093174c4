import Foundation
import ProgramSupport
import Testing

/// `convert`: a converted capture must replay as its source does.
@Suite struct ConversionTests {
    static let endings = ["btsnoop", "pcapng", "jsonl"]

    /// Converts `path` to each format, and each result to the other two. Every result must replay to the same lines.
    ///
    /// If an adapter has a long name, btsnoop has no room for it. The name can then be `shortName`, and `convert` must
    /// report this.
    private func circle(
        _ path: String, converting: [String] = [], replaying: [String] = [], name: String = "", shortName: String = ""
    ) throws {
        let scratch = try Scratch()
        let lines = try Gateway.replay(converting + replaying + [path]).text
        func check(_ capture: String, _ options: [String]) throws {
            let found = try Gateway.replay(replaying + [capture]).text
            let isShort = !name.isEmpty && options.contains("btsnoop")
            #expect(found == (isShort ? lines.replacing(name, with: shortName) : lines), "\(path) to \(options)")
        }
        for first in Self.endings {
            let once = scratch.path("once.\(first)")
            let ending = try Gateway.run(["convert"] + converting + [path, once])
            #expect(ending.status == 0, "\(ending.errors)")
            #expect(ending.output.isEmpty)
            #expect(ending.errors.contains("1 adapter has a name of") == (first == "btsnoop" && !name.isEmpty))
            try check(once, [first])
            for second in Self.endings where second != first {
                let twice = scratch.path("twice.\(second)")
                #expect(try Gateway.run("convert", once, twice).status == 0)
                try check(twice, [first, second])
            }
        }
    }

    @Test(arguments: Fixtures.captures)
    func `T4, L4: a real capture replays to the same lines after conversion`(name: String) throws {
        let isLongNamed = name.hasPrefix("nrf52")
        try circle(
            Fixtures.path(name), converting: name.hasPrefix("hcidump") ? ["--interval", "100ms"] : [],
            replaying: ["--settle"], name: isLongNamed ? "wireshark_extcap3300" : "", shortName: "adp0")
    }

    @Test(arguments: ["btsnoop-h4", "btsnoop-monitor", "pcapng-201", "pcap-256", "hcidump", "log"])
    func `T4, L4: a generated capture replays to the same lines after conversion`(format: String) throws {
        let made = try MadeCapture(format, seed: 5, perEvent: 3, reports: 600, ["--other-events", "0.2"])
        try circle(made.path, replaying: ["--config", try made.configuration(exitTimeout: 10), "--settle"])
    }

    @Test func `T4, L4: a log with other names of fields replays to the same lines after conversion`() throws {
        try circle(Fixtures.path(Fixtures.rooms[2]), converting: ["--fields", Fixtures.roomFields])
    }

    @Test func `convert lists the data that the output cannot store`() throws {
        let scratch = try Scratch()
        let log = try scratch.write(
            "a.jsonl",
            #"{"time":"2026-11-21T07:46:27.123456789Z","adapter":"conference room","rssi":-60,"data":"0201061AFF4C000215F7826DA64FA24E988024BC5B71E0893E00640007C5"}"#
        )
        let ending = try Gateway.run("convert", log, scratch.path("a.btsnoop"))
        #expect(ending.status == 0)
        #expect(
            ending.errors == """
                not stored in the output: 1 time is finer than a microsecond and was truncated
                not stored in the output: 1 adapter has a name of more than 8 bytes and got another name

                """)
        let whole = try Gateway.run("convert", log, scratch.path("a.pcapng"))
        #expect(whole.errors == "")
        let phone = try Gateway.run("convert", Fixtures.path("android-gym-bike.btsnoop"), scratch.path("b.jsonl"))
        #expect(phone.errors.contains("reports lost their kind of advertising"))
    }

    @Test func `convert reports errors and ends with the exit codes of sysexits`() throws {
        let scratch = try Scratch()
        let capture = Fixtures.path("android-gym-bike.btsnoop")
        func check(_ arguments: String..., status: Int32, says: String) throws {
            let ending = try Gateway.run(["convert"] + arguments)
            #expect(ending.status == status, "\(arguments)")
            #expect(ending.errors.contains(says), "\(ending.errors)")
        }
        try check(capture, scratch.path("x.txt"), status: 64, says: "has no ending that selects a format")
        try check(scratch.path("absent"), scratch.path("x.pcapng"), status: 66, says: "can't be opened")
        try check(capture, scratch.path("no/x.pcapng"), status: 73, says: "can't be written")
        try check(capture, "--format", "log", "/dev/full", status: 74, says: "can't be written to")
        try check(
            Fixtures.path("hcidump-gimbal.raw"), scratch.path("x.btsnoop"), status: 65, says: "--interval 100ms")
        let own = try scratch.write("own.btsnoop", try contents(of: capture))
        try check(own, own, status: 64, says: "is also the input")
        #expect(try contents(of: own) == contents(of: capture))
        let cut = try scratch.write("cut", try contents(of: capture).dropLast(10))
        try check(cut, scratch.path("cut.pcapng"), status: 65, says: "it is truncated")
        try check("--lenient", cut, scratch.path("cut.pcapng"), status: 0, says: "it is truncated")
    }

    @Test func `convert writes to standard output`() throws {
        let capture = Fixtures.path("android-gym-bike.btsnoop")
        let log = try Gateway.run("convert", "--format", "log", capture, "-")
        #expect(
            try Gateway.replay(["--settle", "-"], input: log.output).output
                == Gateway.replay(["--settle", capture]).output)
    }
}
