import Foundation
import ProgramSupport
import Testing

/// The messages at the end of a replay.
@Suite struct ReplaySummaryTests {
    let capture = Fixtures.path("android-gym-bike.btsnoop")
    let without = Fixtures.path("whad-pairing.pcap")

    @Test func `replay --summary prints the numbers of records, reports, iBeacons and events in one line`() throws {
        let ending = try Gateway.replay(["--summary", capture])
        #expect(ending.errors == "412 records, 412 reports, 11 iBeacons: 3 events\n")
        #expect(ending.output == (try Gateway.replay([capture]).output))
        let sightings = try Gateway.replay(["--summary", "--sightings", capture])
        #expect(sightings.errors == "412 records, 412 reports, 11 iBeacons\n")
    }

    @Test func `the summary has the singular if a number is 1`() throws {
        let log = Array((Log.sighting("1") + "\n").utf8)
        #expect(
            try Gateway.replay(["--summary", "--sightings", "-"], input: log).errors
                == "1 record, 1 report, 1 iBeacon\n")
        let events = try Gateway.replay(["--summary", "-"], input: log).errors
        #expect(events.hasPrefix("1 record, 1 report, 1 iBeacon: ") && !events.contains("1 events"), "\(events)")
    }

    @Test func `the summary of a capture without iBeacons is that there is nothing to monitor`() throws {
        let ending = try Gateway.replay(["--summary", without])
        #expect(ending.errors.hasSuffix(" reports, 0 iBeacons: nothing to monitor\n"), "\(ending.errors)")
        // Programs that read the lines get all of them, whatever the lines contain.
        #expect(ending.lines.count == 1 && ending.text.contains(#""type":"adapter""#))
    }

    @Test func `without a terminal, a replay prints a summary or statistics only with the option for it`() throws {
        #expect(try Gateway.replay([capture]).errors == "")
        let errors = try Gateway.replay(["--stats", capture]).errors
        #expect(errors.hasPrefix("{\"records\":412,") && errors.split(separator: "\n").count == 1)
        let both = try Gateway.replay(["--stats", "--summary", capture]).errors.split(separator: "\n")
        #expect(both.count == 2 && both[1] == "412 records, 412 reports, 11 iBeacons: 3 events")
    }

    @Test func `on a terminal, the output for a capture without iBeacons is one short line`() throws {
        let ending = try Gateway.run(columns: 80, "replay", without)
        #expect(ending.status == 0)
        #expect(ending.lines.count == 1 && ending.text.hasSuffix(": nothing to monitor\n"), "\(ending.text)")
        let received = try Gateway.run(columns: 80, "replay", capture)
        #expect(received.lines.last == "412 records, 412 reports, 11 iBeacons: 3 events")
        #expect(received.lines.count == 6 && received.lines[0] == "2021-02-01 (+0000)", "\(received.text)")
    }
}
