import BeaconMonitoring
import BeaconMonitoringTesting
import BeaconScanning
import Location
import Testing

/// The examples in the documentation comments of `Location`.
@Suite struct LocationListings {
    let clock = ManualClock()
    let fix: LocationFix

    init() throws {
        fix = try LocationFix(
            time: clock.now, coordinate: Coordinate(latitude: 50, longitude: 8), horizontalAccuracy: 5)
    }

    @Test func `a plan of a GPX file`() throws {
        let bytes = Array(
            """
            <gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1">
            <wpt lat="50" lon="8"/><wpt lat="50.01" lon="8"/></gpx>
            """.utf8)
        var places: [Coordinate] = []
        let file = GPXReader.read(bytes)
        let plan = try GPXPlan(file, pace: 1.5)
        var player = GPXPlayer(plan)
        while let item = player.next() {
            if case .fix(let fix) = item { places.append(fix.coordinate) }
        }
        #expect(places.first?.latitude == 50)
        let pieces = [bytes[..<20], bytes[20...]].map { Array($0) }
        #expect(read(pieces).waypoints.count == 2)
    }

    private func read(_ pieces: [[UInt8]]) -> GPXFile {
        let reader = GPXReader()
        for piece in pieces { reader.read(piece) }
        let file = reader.finish()
        return file
    }

    @Test func `filters of fixes`() {
        do {
            var updates = LiveUpdateFilter(.fitness, at: fix.time)
            for update in updates.located(fix) { print(update.location as Any, update.stationary) }
        }
        let fixes = [fix]
        var detector = VisitDetector()
        for fix in fixes {
            for visit in detector.located(fix) { print(visit.coordinate, visit.departure as Any) }
        }
        var filter = SignificantChangeFilter()
        if let change = filter.located(fix) { print(change.coordinate) }
    }

    @Test func `a feed`() async {
        let feed = LocationFeed()
        var updates = LocationUpdate.liveUpdates(from: feed).makeAsyncIterator()
        feed.located(fix)
        #expect(await updates.next()?.location == fix)
    }

    @Test func `fixes from a script`() async throws {
        let script = ScriptedFixes()
        let monitor = try BeaconMonitor("boat", clock: clock, locating: .scripted(script))
        script.give(fix)
        await monitor.end()
    }

    @Test func `the date of a fix, and its distance from another`() throws {
        var fix = fix
        let earlier = fix
        fix.clockOffset = clock.offset
        if let date = fix.date { print(date, fix.coordinate) }
        let metres = fix.distance(from: earlier)
        #expect(metres == 0 && earlier.date == nil)
        #expect(fix.date == WallDate(clock.now, offset: .zero))
    }

    /// Compiled only: these need Bluetooth or gpsd.
    static func elsewhere(feed: LocationFeed) async throws {
        for await visit in feed.visits {
            if let date = visit.departureDate ?? visit.arrivalDate { print(date, visit.coordinate) }
        }
        for await visit in feed.visits {
            if let date = visit.departureDate { print("left", visit.coordinate, date) }
        }
        for await update in LocationUpdate.liveUpdates() {
            if update.isStationary { print("parked") }
        }
        let monitor = try BeaconMonitor("ferry", scanning: .automatic, locating: .gpsd())
        for await update in LocationUpdate.liveUpdates(.otherNavigation) {
            if let fix = update.location { print(fix.coordinate) }
            if update.stationary { break }
        }
        await monitor.end()
    }
}
