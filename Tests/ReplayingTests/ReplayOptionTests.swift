import Foundation
import ProgramSupport
import Testing

/// The options of `replay`, as an operator uses them.
@Suite struct ReplayOptionTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    @Test func `a capture without times gives sightings, and events only with --interval`() throws {
        let path = Fixtures.path("hcidump-gimbal.raw")
        let without = try Gateway.run("replay", path)
        #expect(without.status == 65)
        #expect(without.output.isEmpty)
        #expect(without.errors.contains("--interval 100ms"))
        let events = try Change.events(of: try Gateway.replay(["--interval", "100ms", path]).lines)
        #expect(!events.isEmpty)
        #expect(events.allSatisfy { $0.time % 100_000 == 0 && $0.time < 242 * 100_000 })
        #expect(try Gateway.replay(["--sightings", path]).lines.allSatisfy { !$0.contains(#""time""#) })
        let first = try #require(try Gateway.replay(["--sightings", "--interval", "1.5s", path]).lines.first)
        #expect(first.contains(#""time":"1970-01-01T00:00:00.000000Z""#))
    }

    @Test(arguments: [("022", 0o750, 0o640), ("000", 0o750, 0o640), ("077", 0o700, 0o600)])
    func `only the owner and the group can read event files and captures that are written`(
        mask: String, folderMode: Int, fileMode: Int
    ) throws {
        let capture = Fixtures.path("android-gym-bike.btsnoop")
        let (folder, converted) = (scratch.path("events"), scratch.path("converted.pcapng"))
        for arguments in ["replay --output '\(folder)' '\(capture)'", "convert '\(capture)' '\(converted)'"] {
            let ending = try run("/bin/sh", ["-c", "umask \(mask); exec '\(Gateway.path)' \(arguments)"])
            #expect(ending.status == 0, "\(ending.errors)")
        }
        func mode(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try mode(folder) == folderMode && mode(converted) == fileMode)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0 != "current" }
        #expect(files.count == 2)
        for file in files { #expect(try mode("\(folder)/\(file)") == fileMode, "\(file)") }
    }

    private static let backwards = ["0", "5", "2", "4", "6", "5.0", "7", "5.999999", "20"]

    @Test func `--reorder sorts records by their times`() throws {
        let path = try scratch.log("a", Self.backwards.map { Log.sighting($0) })
        func times(_ arguments: String...) throws -> [Double] {
            try Gateway.replay(arguments + ["--sightings", path]).lines.map {
                Double(try microseconds(of: try #require(try object($0)["time"] as? String))) / 1_000_000
            }
        }
        #expect(try times() == [0, 5, 2, 4, 6, 5, 7, 5.999999, 20])
        #expect(try times("--reorder", "10s") == [0, 2, 4, 5, 5, 5.999999, 6, 7, 20])
        // If records are held for too short a time, some are still late, but none is lost.
        #expect(try times("--reorder", "1ms").sorted() == [0, 2, 4, 5, 5, 5.999999, 6, 7, 20])
    }

    @Test func `T2: --stats counts late records, and lists each step back of more than a second`() throws {
        let path = try scratch.log("a", Self.backwards.map { Log.sighting($0) })
        let counts = try object(try Gateway.replay(["--stats", path]).errors)
        #expect(counts["reordered"] as? Int == 4)
        let steps = try #require(counts["stepsBack"] as? [String: Any])
        #expect(steps["count"] as? Int == 2)
        let first = try #require(steps["first"] as? [[String: Any]])
        #expect(first.map { $0["record"] as? Int } == [3, 8])
        // A step of exactly one second is not listed.
        #expect(first.map { $0["seconds"] as? Double } == [3, 1.000001])
        #expect(first.allSatisfy { $0["file"] as? String == path })
    }

    @Test func `without a configuration, the first 1,000 UUIDs are conditions; other sightings are counted`() throws {
        func uuid(_ number: Int) -> String {
            let digits = String(number, radix: 16, uppercase: true)
            return "F7826DA6-4FA2-4E98-8024-" + String(repeating: "0", count: 12 - digits.count) + digits
        }
        let lines =
            (0..<1001).map { Log.sighting("\($0).5", uuid: uuid($0)) } + [Log.sighting("2000", uuid: uuid(1000))]
        let path = try scratch.log("a", lines)
        let ending = try Gateway.replay(["--stats", path])
        let added = try payloads(ending.lines, type: "condition")
        #expect(added.compactMap { $0["identifier"] as? String } == (0..<1000).map(uuid))
        #expect(added.allSatisfy { ($0["settings"] as? [String: Any])?["perBeacon"] as? Bool == true })
        #expect(ending.errors.contains("2 sightings are of UUIDs after the first 1000"))
        let whole = try Gateway.replay(["--stats", try scratch.log("b", Array(lines.prefix(1000)))])
        #expect(!whole.errors.contains("after the first"))
    }

    @Test func `--output creates a folder with one segment and a link to it`() throws {
        let capture = Fixtures.path("android-gym-bike.btsnoop")
        let folder = scratch.path("events")
        let ending = try Gateway.replay(["--output", folder, capture])
        #expect(ending.output.isEmpty)
        #expect(ending.errors == "")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        #expect(names == ["alive", "current", "events-000000000001-20210201T032759Z.jsonl"])
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder + "/current") == names[2])
        #expect(try contents(of: folder + "/current") == Gateway.replay([capture]).output)
        let again = try Gateway.run("replay", "--output", folder, capture)
        #expect(again.status == 73)
        #expect(again.errors == "\(folder) is not empty; use a new folder, or empty it\n")
        #expect(try contents(of: folder + "/current") == Gateway.replay([capture]).output)
        let empty = scratch.path("empty")
        try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: false)
        #expect(try Gateway.run("replay", "--output", empty, capture).status == 0)
    }

    @Test func `lines have the names of the gateway and the monitor in the configuration`() throws {
        let config = try scratch.write(
            "c.yaml", "gateway:\n  name: depot\nmonitor:\n  name: floor\n" + Log.configuration)
        let lines = try Gateway.replay(["--config", config, try scratch.log("a", [Log.sighting("1")])]).lines
        let objects = try lines.map(object)
        #expect(
            objects.map { $0["topic"] as? String } == [
                "beacons/depot/condition/staff", "beacons/depot/adapter/hci0", "beacons/depot/event/staff",
            ])
        #expect(try payloads(lines).map { $0["sequence"] as? Int } == [1, 2, 3])
        #expect(try payloads(lines, type: "event").first?["monitor"] as? String == "floor")
    }
}
