import BeaconMonitoring
import Testing

@testable import Location

/// Live updates, significant changes and visits.
@Suite struct LiveUpdateTests {
    @Test func `each fix is an update, if no filter is set`() throws {
        var filter = LiveUpdateFilter(at: at(0))
        for second in 1...5 {
            let fix = try fix(Double(second), north: Double(second) * 10)
            #expect(filter.located(fix) == [LocationUpdate(location: fix)])
        }
    }

    @Test func `distanceFilter: an update needs a distance of at least 50 m from the previous update`() throws {
        var options = LocationFilter()
        options.distanceFilter = 50
        var filter = LiveUpdateFilter(filter: options, at: at(0))
        #expect(filter.located(try fix(1)).count == 1)
        #expect(filter.located(try fix(2, north: 49.99)).isEmpty)
        #expect(filter.located(try fix(3, north: 50.01)).count == 1)
        #expect(filter.located(try fix(4, north: 99.9)).isEmpty)
    }

    @Test func `desiredAccuracy: worse fixes are skipped until ten seconds after the last accurate one`() throws {
        var options = LocationFilter()
        options.desiredAccuracy = .nearestTenMeters
        var filter = LiveUpdateFilter(filter: options, at: at(0))
        #expect(filter.located(try fix(1, accuracy: 10)).map(\.accuracyLimited) == [false])
        #expect(filter.located(try fix(2, north: 30, accuracy: 10.1)).isEmpty)
        #expect(filter.located(try fix(10.9, north: 60, accuracy: 50)).isEmpty)
        #expect(filter.located(try fix(11, north: 90, accuracy: 50)).map(\.accuracyLimited) == [true])
        #expect(filter.located(try fix(12, north: 99, accuracy: 3)).map(\.accuracyLimited) == [false])
    }

    @Test func `desiredAccuracy: without a start time, an inaccurate fix is delivered ten seconds after the first`()
        throws
    {
        var options = LocationFilter()
        options.desiredAccuracy = .nearestTenMeters
        var filter = LiveUpdateFilter(filter: options)
        #expect(filter.located(try fix(1, accuracy: 50)).map(\.accuracyLimited) == [true])
        #expect(filter.located(try fix(10.9, north: 300, accuracy: 50)).isEmpty)
        #expect(filter.located(try fix(11, north: 600, accuracy: 50)).map(\.accuracyLimited) == [true])
    }

    @Test(
        arguments: [
            (DesiredAccuracy.bestForNavigation, nil), (.best, nil), (.nearestTenMeters, 10), (.hundredMeters, 100),
            (.kilometer, 1000), (.threeKilometers, 3000), (.reduced, nil),
        ] as [(DesiredAccuracy, Double?)])
    func `each of the seven constants has its limit in meters, or none`(accuracy: DesiredAccuracy, metres: Double?) {
        #expect(accuracy.metres == metres)
        #expect(accuracy.isReduced == (accuracy == .reduced))
    }

    @Test func `reduced: an update has the center of a cell, and the next follows when the cell changes`() throws {
        var options = LocationFilter()
        options.desiredAccuracy = .reduced
        var filter = LiveUpdateFilter(.airborne, filter: options, at: at(0))
        let first = filter.located(try fix(1))
        #expect(first.map(\.accuracyLimited) == [true])
        #expect(first[0].location?.horizontalAccuracy == 3900)
        #expect(first[0].location?.date == nil)
        #expect(try #require(first[0].location?.coordinate.distance(to: vienna())) > 100)
        #expect(filter.located(try fix(2, north: 500)).isEmpty)
        var dated = try fix(3, north: 6000)
        dated.clockOffset = ClockOffset(nanoseconds: 1_000_000_000)
        #expect(filter.located(dated).map { $0.location?.date } == [WallDate(at(4), offset: .zero)])
    }

    @Test func `stationary: the last update before the pause is stationary, and the first after it is not`()
        throws
    {
        var filter = LiveUpdateFilter(.fitness, at: at(0))
        var updates: [LocationUpdate] = []
        for second in 0...29 { updates += filter.located(try fix(Double(second), north: Double(second % 3))) }
        #expect(updates.allSatisfy { !$0.stationary })
        let paused = filter.located(try fix(30))
        #expect(paused.map(\.stationary) == [true])
        #expect(paused.map(\.isStationary) == [true])
        for second in 31...200 { #expect(filter.located(try fix(Double(second), north: Double(second % 5))).isEmpty) }
        // 10 m for the radius, and 5 m for the error of the fix.
        #expect(filter.located(try fix(201, north: 14.9)).isEmpty)
        let resumed = filter.located(try fix(202, north: 15.1))
        #expect(resumed.map(\.stationary) == [false])
        #expect(resumed.map(\.isStationary) == [false])
        #expect(resumed[0].location != nil)
    }

    @Test(arguments: LocationUpdate.LiveConfiguration.allCases)
    func `each configuration has its own stationaryAfter`(configuration: LocationUpdate.LiveConfiguration) throws {
        var filter = LiveUpdateFilter(configuration, at: at(0))
        let seconds = Double(configuration.stationaryAfter.components.seconds)
        for second in stride(from: 0, to: seconds, by: 5) {
            #expect(filter.located(try fix(second)).allSatisfy { !$0.stationary })
        }
        #expect(filter.located(try fix(seconds)).map(\.stationary) == [true])
    }

    @Test func `locationUnavailable is set once after ten seconds without a fix, and cleared by the next fix`() throws {
        var filter = LiveUpdateFilter(at: at(0))
        _ = filter.located(try fix(1))
        #expect(filter.nextDeadline == at(11))
        #expect(filter.advance(to: at(10.999)).isEmpty)
        _ = filter.located(try fix(10.999))
        #expect(filter.advance(to: at(11)).isEmpty)
        let lost = filter.advance(to: at(20.999))
        #expect(lost.map(\.locationUnavailable) == [true])
        #expect(lost[0].location == nil)
        #expect(filter.advance(to: at(500)).isEmpty)
        #expect(filter.nextDeadline == nil)
        #expect(filter.located(try fix(501)).map(\.locationUnavailable) == [false])
        // If a fix arrives after the silence, the loss is reported before it.
        #expect(filter.located(try fix(600)).map(\.locationUnavailable) == [true, false])
    }

    @Test func `a change of the diagnostics is an update`() throws {
        var filter = LiveUpdateFilter(at: at(0))
        #expect(filter.set([.authorizationDenied, .serviceSessionRequired]).map(\.authorizationDenied) == [true])
        #expect(filter.set([.authorizationDenied, .serviceSessionRequired]).isEmpty)
        #expect(filter.located(try fix(1)).map(\.serviceSessionRequired) == [true])
        #expect(filter.set([]).map(\.authorizationDenied) == [false])
    }

    @Test func `a significant change needs 500 m and five minutes`() throws {
        var filter = SignificantChangeFilter()
        #expect(filter.located(try fix(0)) != nil)
        #expect(filter.located(try fix(299.9, north: 5000)) == nil)
        #expect(filter.located(try fix(300, north: 499.9)) == nil)
        #expect(filter.located(try fix(301, north: 900, accuracy: 1000)) == nil)
        #expect(filter.located(try fix(302, north: 500.1)) != nil)
        #expect(filter.located(try fix(303)) == nil)
    }

    @Test func `a visit is delivered after five minutes with an open departure, and again with the departure`() throws {
        var detector = VisitDetector()
        for second in 0..<300 { #expect(detector.located(try fix(Double(second), north: Double(second % 7))).isEmpty) }
        let arrived = detector.located(try fix(300))
        #expect(arrived.map(\.arrival) == [at(0)])
        #expect(arrived[0].departure == nil)
        #expect(detector.located(try fix(400, north: 104)).isEmpty)
        #expect(detector.located(try fix(401, north: 99)).isEmpty)
        let left = detector.located(try fix(500, north: 110))
        #expect(left.map(\.arrival) == [at(0)])
        #expect(left.map(\.departure) == [at(401)])
        // Passing a place is not a visit.
        for second in 501..<900 {
            #expect(detector.located(try fix(Double(second), north: Double(second) * 10)).isEmpty)
        }
    }

    @Test func `the dates of a visit are those of its first and last fix, also if the wall clock is set between them`()
        throws
    {
        var detector = VisitDetector()
        func located(_ seconds: Double, north: Double = 0, accuracy: Double = 5, ahead: Int64?) throws
            -> [LocationVisit]
        {
            var fix = try fix(seconds, north: north, accuracy: accuracy)
            fix.clockOffset = ahead.map { ClockOffset(nanoseconds: $0 * 1_000_000_000) }
            return detector.located(fix)
        }
        #expect(try located(0, ahead: 100).isEmpty)
        // A more accurate fix has the position of the visit, but not its time.
        #expect(try located(60, north: 20, accuracy: 3, ahead: 7000).isEmpty)
        let arrived = try located(300, ahead: 7000)
        #expect(arrived.map(\.coordinate) == [try vienna(north: 20)])
        #expect(arrived.map(\.arrivalDate) == [WallDate(at(100), offset: .zero)])
        #expect(arrived.map(\.departureDate) == [nil])
        #expect(try located(400, ahead: 7000).isEmpty)
        let left = try located(500, north: 1000, ahead: nil)
        #expect(left.map(\.arrivalDate) == [WallDate(at(100), offset: .zero)])
        #expect(left.map(\.departureDate) == [WallDate(at(7400), offset: .zero)])
        // The first fix at this place had no date.
        #expect(try located(900, north: 1000, ahead: 100).map(\.arrivalDate) == [nil])
    }

    @Test func `subscribers of a feed get the updates since their own start`() async throws {
        let feed = LocationFeed()
        let first = LocationUpdate.liveUpdates(.airborne, from: feed).makeAsyncIterator()
        feed.located(try fix(1))
        let second = LocationUpdate.liveUpdates(.airborne, from: feed).makeAsyncIterator()
        let changes = feed.significantChanges.makeAsyncIterator()
        let visits = feed.visits.makeAsyncIterator()
        #expect(feed.subscriberCount == 4)
        feed.located(try fix(2, north: 50))
        feed.advance(to: at(12))
        var (one, two, three, four) = (first, second, changes, visits)
        #expect(await one.next()?.location?.time == at(1))
        #expect(await one.next()?.location?.time == at(2))
        #expect(await one.next()?.locationUnavailable == true)
        #expect(await two.next()?.location?.time == at(2))
        #expect(await two.next()?.locationUnavailable == true)
        #expect(await three.next()?.time == at(2))
        for second in stride(from: 13, through: 320, by: 1) { feed.located(try fix(Double(second))) }
        #expect(await four.next()?.departure == nil)
    }

    @Test func `a subscriber that does not take updates loses the oldest, counted; one that ends is removed`()
        async throws
    {
        let feed = LocationFeed()
        var updates: AsyncStream<LocationUpdate>.Iterator? =
            LocationUpdate.liveUpdates(.airborne, from: feed).makeAsyncIterator()
        for second in 1...(LocationFeed.updatesMax + 10) {
            feed.located(try fix(Double(second) / 10, north: Double(second)))
        }
        #expect(feed.droppedUpdates == 10)
        #expect(await updates?.next()?.location?.time == at(1.1))
        updates = nil
        #expect(feed.subscriberCount == 0)
    }
}
