import BaseTypes
import BeaconMonitoring
import TestSupport
import Testing

@testable import Location

/// Valid and damaged GPX files.
@Suite struct GPXReaderTests {
    static let ride = """
        <?xml version="1.0" encoding="UTF-8"?>
        <gpx version="1.1" creator="a bus" xmlns="http://www.topografix.com/GPX/1/1" xmlns:x="urn:x">
          <metadata><time>2000-01-01T00:00:00Z</time></metadata>
          <wpt lat="48.1" lon="16.1"><name>depot</name></wpt>
          <trk><name>out</name>
            <trkseg>
              <trkpt lat="48.2" lon="16.3"><ele>171.5</ele><time>2026-11-21T07:00:00Z</time><hdop>2</hdop>
                <extensions><x:time>1999-01-01T00:00:00Z</x:time><x:e><x:hdop>99</x:hdop></x:e></extensions></trkpt>
              <trkpt lat="48.21" lon="16.3"><time>2026-11-21T07:01:00.5+01:00</time></trkpt>
            </trkseg>
            <trkseg><trkpt lat="48.22" lon="16.3"/></trkseg>
          </trk>
          <trk><trkseg><trkpt lat="48.23" lon="16.3"/></trkseg></trk>
          <rte><rtept lat="1" lon="2"/><rtept lat="1.5" lon="2"/></rte>
        </gpx>
        """

    @Test func `tracks, segments, routes and waypoints are read with their values`() throws {
        let file = GPXReader.read(Array(Self.ride.utf8))
        #expect(file.damages == [])
        #expect(file.segments.map(\.count) == [2, 1, 1])
        #expect(file.routes.map(\.count) == [2])
        #expect(file.waypoints.count == 1)
        let first = file.segments[0][0]
        #expect(first.coordinate == (try Coordinate(latitude: 48.2, longitude: 16.3)))
        #expect(first.time == Instant(nanoseconds: 1_795_244_400_000_000_000))
        #expect(first.altitude == 171.5)
        #expect(first.horizontalAccuracy == 10)
        #expect(first.line == 7)
        #expect(file.segments[0][1].time == Instant(nanoseconds: 1_795_240_860_500_000_000))
        #expect(file.segments[0][1].horizontalAccuracy == 5)
        #expect(file.lines.map(\.count) == [2, 1, 1])
    }

    @Test func `pieces of any size give the same result`() {
        let whole = GPXReader.read(Array(Self.ride.utf8))
        for size in [1, 7, 100] {
            let reader = GPXReader()
            var rest = Array(Self.ride.utf8)[...]
            while !rest.isEmpty {
                reader.read(Array(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            #expect(reader.finish() == whole)
        }
    }

    @Test func `GPX 1.0, ISO 8859-1 and an element prefix can be read`() {
        let old = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><gpx version=\"1.0\"><trk><name>Gr"
        let rest = "n</name><trkseg><trkpt lat='1' lon='2'><speed>3</speed></trkpt></trkseg></trk></gpx>"
        let file = GPXReader.read(Array(old.utf8) + [0xFC] + Array(rest.utf8))
        #expect(file.damages == [])
        #expect(file.segments.map(\.count) == [1])
        let prefixed = "<g:gpx xmlns:g='u'><g:wpt lat='1' lon='2'><g:time>2026-01-01T00:00:00Z</g:time></g:wpt></g:gpx>"
        #expect(GPXReader.read(Array(prefixed.utf8)).waypoints.first?.time != nil)
    }

    @Test func `of a truncated file, the complete part is used, and the end is reported with line and column`() throws {
        let text = Array(Self.ride.utf8)
        let cut = try #require(Self.ride.range(of: "<trkseg><trkpt lat=\"48.22\""))
        let file = GPXReader.read(Array(Self.ride[..<cut.lowerBound].utf8))
        #expect(file.segments.map(\.count) == [2])
        #expect(file.damages.map(\.description) == ["11:5: no element found; the part before it is used"])
        for size in stride(from: 0, to: text.count - 1, by: 13) {
            #expect(!GPXReader.read(Array(text.prefix(size))).damages.isEmpty)
        }
    }

    @Test(arguments: [
        ("<gpx><wpt lat='91' lon='2'/><wpt lat='1' lon='2'/></gpx>", 1),
        ("<gpx><wpt lon='2'/><wpt lat='1' lon='2'/></gpx>", 1),
        ("<gpx><wpt lat='nan' lon='2'/><wpt lat='1' lon='2'/></gpx>", 1),
        ("<gpx><wpt lat='' lon='2'/><wpt lat='1e999' lon='2'/></gpx>", 0),
        ("<gpx><wpt lat='1' lon='2'><time>yesterday</time></wpt></gpx>", 1),
        ("<gpx><wpt lat='1' lon='2'><ele>high</ele></wpt></gpx>", 1),
        ("<gpx><wpt lat='1' lon='2'><hdop>-1</hdop></wpt></gpx>", 1),
        ("<gpx><wpt lat='1' lon='2'></gpx>", 0), ("<gpx><wpt lat='1' lat='2' lon='3'/></gpx>", 0),
        ("<kml><wpt lat='1' lon='2'/></kml>", 0), ("", 0), ("not XML", 0), ("<gpx>&nbsp;</gpx>", 0),
        ("<gpx>\u{0}</gpx>", 0),
    ])
    func `an invalid part is reported, and the rest is used`(text: String, points: Int) {
        let file = GPXReader.read(Array(text.utf8))
        #expect(!file.damages.isEmpty)
        #expect(file.waypoints.count == points)
    }

    @Test func `entities are not expanded: a document type ends the reading`() {
        var bomb = "<?xml version=\"1.0\"?><!DOCTYPE gpx [<!ENTITY a \"lol\">"
        for index in 1...30 {
            bomb += "<!ENTITY a\(index) \"\(String(repeating: "&a\(index == 1 ? "" : "\(index - 1)");", count: 10))\">"
        }
        bomb += "]><gpx><wpt lat='1' lon='2'><time>&a30;</time></wpt></gpx>"
        let file = GPXReader.read(Array(bomb.utf8))
        #expect(file.waypoints.isEmpty)
        #expect(file.damages.map(\.line) == [1])
        #expect(file.damages[0].message.contains("document type"))
    }

    @Test func `depth, text and damages are bounded`() {
        let deep = "<gpx>" + String(repeating: "<a>", count: 100_000)
        #expect(GPXReader.read(Array(deep.utf8)).damages.first?.message.contains("inside each other") == true)
        let text = "<gpx><wpt lat='1' lon='2'><time>" + String(repeating: "1", count: 5_000_000) + "</time></wpt></gpx>"
        #expect(GPXReader.read(Array(text.utf8)).damages.count == 1)
        let many = "<gpx>" + String(repeating: "<wpt lat='x' lon='2'/>", count: 500) + "</gpx>"
        let file = GPXReader.read(Array(many.utf8))
        #expect(file.damages.count == GPXFile.damagesMax)
        #expect(file.damagesTotal == 500)
    }

    @Test func `no file causes a trap, and time never goes back`() {
        var random = SeededGenerator(state: SeededGenerator.seed)
        for _ in 0..<3000 {
            let file = GPXReader.read(mutated(Array(Self.ride.utf8), &random))
            guard let plan = try? GPXPlan(file, pace: 10) else { continue }
            var player = GPXPlayer(plan)
            var last = Instant.earliest
            for _ in 0..<500 {
                guard let item = player.next() else { break }
                #expect(item.time >= last)
                last = item.time
            }
        }
    }

    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2026-11-21T07:46:27.123456Z", 1_795_247_187_123_456_000),
            ("2024-02-29T23:59:60Z", 1_709_251_200_000_000_000), ("2024-02-28T23:59:60Z", nil),
            ("2024-02-29T10:00:60Z", nil), ("2024-03-01T00:59:60+01:00", 1_709_251_200_000_000_000),
            (" 2026-11-21T07:46:27 ", 1_795_247_187_000_000_000),
            ("2026-11-21T07:46:27-05:30", 1_795_266_987_000_000_000), ("2026-11-21T07:46Z", 1_795_247_160_000_000_000),
            ("2026-11-21 07:46:27Z", 1_795_247_187_000_000_000), ("1969-12-31T23:59:59Z", nil),
            ("2025-02-29T00:00:00Z", nil),
            ("2026-13-01T00:00:00Z", nil), ("2026-11-21", nil), ("2026-11-21T07:46:27.Z", nil),
            ("2026-11-21T07:61:00Z", nil), ("2026-11-21T24:00:00Z", 1_795_305_600_000_000_000),
            ("2026-11-21T24:00:01Z", nil), ("2026-11-21T24:01:00Z", nil), ("2026-11-21T24:00:00.5Z", nil),
            ("2026-09-31T00:00:00Z", nil),
            ("9999-01-01T00:00:00Z", nil), ("2026-11-21T07:46:27+", nil), ("", nil),
        ] as [(String, Int64?)])
    func `times are read as in ISO 8601`(text: String, nanoseconds: Int64?) {
        #expect(GPXTime.parse(Array(text.utf8))?.nanoseconds == nanoseconds)
    }
}
