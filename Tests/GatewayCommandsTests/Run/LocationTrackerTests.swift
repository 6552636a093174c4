import BaseTypes
import BeaconMonitoring
import EventLoops
import GatewayConfiguration
import ProgramSupport
import Testing

@testable import GatewayCommands

@Suite struct LocationTrackerTests {
    private final class Reported {
        var inputs: [LocationTracker.Input] = []
        var lines: [String] = []
    }

    private let reported = Reported()
    private let tracker: LocationTracker

    init() throws {
        let reported = reported
        tracker = LocationTracker(on: try EventLoop(), log: { _, line in reported.lines.append(line) }) {
            reported.inputs.append($0)
        }
    }

    private func configuration(_ location: String, circle: Bool = true) throws -> Configuration {
        let condition =
            circle
            ? "{identifier: yard, center: [48.2, 16.4], radius: 100}"
            : "{identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}"
        let text = "location: \(location)\nconditions:\n- \(condition)\n"
        return try Configuration.parse(Array(text.utf8), file: "c.yaml").get()
    }

    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test func `if no circle is monitored, no source is started and nothing is logged`() throws {
        tracker.start(try configuration("{source: gpx, file: /nowhere.gpx}", circle: false))
        #expect(tracker.sourceState == nil && reported.lines.isEmpty)
    }

    @Test func `a track that cannot be read is logged, and is in the status`() throws {
        tracker.start(try configuration("{source: gpx, file: /nowhere.gpx}"))
        let failure = "location.file /nowhere.gpx can't be read, or is not a GPX file; circles have no fix"
        #expect(reported.lines == [failure])
        #expect(tracker.sourceState == LocationTracker.SourceState(name: "gpx", lastFix: nil, failure: failure))
    }

    @Test func `a source without a fix has a problem in the status until the next fix`() throws {
        tracker.start(try configuration("{source: gpx, file: /nowhere.gpx}"))
        tracker.changed(.unavailable(since: at(1), reason: "gpsd is gone"), at: at(2))
        #expect(reported.inputs == [.lost(since: at(1), reason: "gpsd is gone", at: at(2))])
        #expect(tracker.sourceState?.failure == "gpsd is gone")
        let fix = try LocationFix(
            time: at(3), coordinate: try Coordinate(latitude: 48.2, longitude: 16.4), horizontalAccuracy: 5)
        tracker.located(fix)
        #expect(reported.inputs.last == .fix(fix))
        #expect(tracker.sourceState?.failure == nil && tracker.sourceState?.lastFix == fix)
        #expect(reported.lines.last == "fixes arrive again, after: gpsd is gone")
    }

    @Test func `a reload ends the old source with a loss, and starts the new one`() throws {
        let scratch = try Scratch()
        let track = try scratch.write(
            "t.gpx",
            """
            <gpx version="1.1"><trk><trkseg>
            <trkpt lat="48.2" lon="16.4"><time>2026-11-21T08:00:00Z</time></trkpt>
            <trkpt lat="48.2" lon="16.5"><time>2026-11-21T09:00:00Z</time></trkpt>
            </trkseg></trk></gpx>
            """
        )
        tracker.start(try configuration("{source: gpx, file: /nowhere.gpx}"))
        tracker.restart(try configuration("{source: gpx, file: \(track)}"), at: at(9))
        #expect(reported.inputs.first == .lost(since: at(9), reason: "the configuration was reloaded", at: at(9)))
        #expect(tracker.sourceState?.name == "gpx")
        #expect(tracker.sourceState?.failure == nil)
        #expect(tracker.sourceState?.lastFix != nil)
        tracker.stop()
    }
}
