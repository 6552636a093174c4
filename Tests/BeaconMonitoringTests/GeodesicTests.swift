import Foundation
import TestSupport
import Testing

@testable import BeaconMonitoring

/// Distances and directions on WGS 84 agree with published lines.
@Suite struct GeodesicTests {
    private func place(_ latitude: Double, _ longitude: Double) throws -> Coordinate {
        try Coordinate(latitude: latitude, longitude: Ellipsoid.normalized(longitude))
    }

    @Test(arguments: PublishedLine.karney)
    func `distances of the twenty lines of GeographicLib's tests agree to 0.5 mm`(line: PublishedLine) throws {
        let (from, to) = (
            try place(line.latitude1, line.longitude1), try place(line.latitude2, line.longitude2)
        )
        #expect(abs(from.distance(to: to) - line.distance) < 0.0005)
        #expect(abs(to.distance(to: from) - line.distance) < 0.0005)
        let turn = (from.azimuth(to: to) - line.azimuth1).remainder(dividingBy: 360)
        #expect(abs(turn) < 1e-7)
        let end = from.destination(azimuth: line.azimuth1, distance: line.distance)
        #expect(end.distance(to: to) < 0.001)
    }

    /// The inverse formula of Vincenty does not converge between nearly antipodal points. Source: `GeodSolve2…99` in
    /// `tests/geodtest.c` of GeographicLib.
    @Test(
        arguments: [
            (88.202499451857, 0, -88.202499451857, 179.981022032992859592, 20003898.214),
            (89.262080389218, 0, -89.262080389218, 179.992207982775375662, 20003925.854),
            (89.333123580033, 0, -89.333123580032997687, 179.99295812360148422, 20003926.881),
            (56.320923501171, 0, -56.320923501171, 179.664747671772880215, 19993558.287),
            (52.784459512564, 0, -52.784459512563990912, 179.634407464943777557, 19991596.095),
            (48.522876735459, 0, -48.52287673545898293, 179.599720456223079643, 19989144.774),
            (5, 0.00000000000001, 10, 180, 18345191.1743327),
            (-(41 + 19 / 60.0), 174 + 49 / 60.0, 40 + 58 / 60.0, -(5 + 30 / 60.0), 19960543.857179),
            (27.2, 0, -27.1, 179.5, 19974354.765767), (45, 0, -45, 179.572719, 19987083.007),
            (0, 0, 0, 179.5, 19980862), (0, 0, 0, 180, 20003931), (0, 0, 1, 180, 19893357), (90, 0, -90, 0, 20003931),
        ] as [(Double, Double, Double, Double, Double)])
    func `nearly antipodal distances agree to 1 mm or 0.5 m`(line: (Double, Double, Double, Double, Double)) throws {
        let (from, to) = (try place(line.0, line.1), try place(line.2, line.3))
        // Some distances are published only to 1 m.
        let tolerance = line.4 == line.4.rounded() ? 0.5 : 0.001
        #expect(abs(from.distance(to: to) - line.4) < tolerance)
        #expect(abs(to.distance(to: from) - line.4) < tolerance)
    }

    /// The line from Flinders Peak to Buninyong, from the Geocentric Datum of Australia Technical Manual, chapter 4. It
    /// is on GRS 80, whose flattening differs from that of WGS 84 in the eighth digit.
    @Test func `the line with which Australia's surveyors test Vincenty's formulae agrees to 0.6 mm`() throws {
        let flinders = try place(-(37 + 57 / 60.0 + 3.72030 / 3600), 144 + 25 / 60.0 + 29.52440 / 3600)
        let buninyong = try place(-(37 + 39 / 60.0 + 10.15610 / 3600), 143 + 55 / 60.0 + 35.38390 / 3600)
        #expect(abs(flinders.distance(to: buninyong) - 54972.271) < 0.0006)
        let fixes = try [flinders, buninyong].map {
            try LocationFix(time: .earliest, coordinate: $0, horizontalAccuracy: 5)
        }
        #expect(abs(fixes[1].distance(from: fixes[0]) - 54972.271) < 0.0006)
        #expect(abs(flinders.azimuth(to: buninyong) - (306 + 52 / 60.0 + 5.37 / 3600)) < 0.01 / 3600)
        #expect(abs(buninyong.azimuth(to: flinders) - (127 + 10 / 60.0 + 25.07 / 3600)) < 0.01 / 3600)
        let end = flinders.destination(azimuth: 306 + 52 / 60.0 + 5.37 / 3600, distance: 54972.271)
        #expect(end.distance(to: buninyong) < 0.01)
    }

    @Test func `a degree of the equator agrees to 0.01 mm, the quadrant of a meridian to 0.5 mm`() throws {
        // A degree is a·π/180. The quadrant of the meridian is 10 001 965.729 m (NGA.STND.0036).
        #expect(abs(try place(0, 0).distance(to: place(0, 1)) - 111_319.490_793) < 0.000_01)
        #expect(abs(try place(0, 0).distance(to: place(90, 0)) - 10_001_965.729_3) < 0.000_5)
        #expect(abs(try place(0, 179.5).distance(to: place(0, -179.5)) - 111_319.490_793) < 0.000_01)
    }

    @Test func `the distance between equal places is 0, also at the poles and at 180 degrees`() throws {
        let here = try place(48.2082, 16.3738)
        #expect(here.distance(to: here) == 0)
        #expect(here.azimuth(to: here) == 0)
        #expect(here.destination(azimuth: 90, distance: 0) == here)
        #expect(try place(90, 0).distance(to: place(90, 120)) < 1e-6)
        #expect(try place(-90, 0).distance(to: place(-90, 120)) < 1e-6)
        #expect(try place(10, 180).distance(to: place(10, -180)) < 1e-6)
    }

    @Test func `the middle of a line is at half of its length, also over the date line`() throws {
        for (from, to) in [
            (try place(48.2, 16.3), try place(48.3, 16.9)), (try place(-17, 179.9), try place(-18, -179.8)),
            (try place(0, 0), try place(0.5, 179.7)),
        ] {
            let middle = from.interpolated(to: to, fraction: 0.5)
            let whole = from.distance(to: to)
            #expect(abs(from.distance(to: middle) - whole / 2) < 0.002)
            #expect(abs(middle.distance(to: to) - whole / 2) < 0.002)
            #expect(from.interpolated(to: to, fraction: 0) == from)
            #expect(from.interpolated(to: to, fraction: 1) == to)
        }
    }

    @Test func `the distance of any two places is a number within its bounds`() throws {
        var random = SeededGenerator(state: 7)
        for _ in 0..<2000 {
            func degrees(_ most: Double) -> Double {
                random.chance(20)
                    ? random.pick([0, most, -most, most - 1e-9, 1e-12, most / 2])
                    : Double.random(in: -most...most, using: &random)
            }
            let (from, to) = (try place(degrees(90), degrees(180)), try place(degrees(90), degrees(180)))
            let distance = from.distance(to: to)
            #expect((0...20_003_932).contains(distance))
            #expect(distance + 0.001 >= Ellipsoid.wgs84.distanceMinimum(latitudes: from.latitude - to.latitude))
            #expect((0..<360).contains(from.azimuth(to: to)) || from.azimuth(to: to) == 360)
        }
    }

    @Test func `sines and angles agree with the C library`() {
        var random = SeededGenerator(state: 11)
        let pi = Double.pi
        var angles: [Double] = [0, pi, -pi, pi / 2, -pi / 2, pi / 4, 1e-300, 1e-9, 10, -10]
        for _ in 0..<5000 { angles.append(Double.random(in: -12...12, using: &random)) }
        for angle in angles {
            let (sine, cosine) = Trigonometry.sineCosine(angle)
            #expect(abs(sine - sin(angle)) < 3e-16)
            #expect(abs(cosine - cos(angle)) < 3e-16)
            #expect(abs(Trigonometry.atan2(sine, cosine) - atan2(sine, cosine)) < 1e-15)
            let y = Double.random(in: -1...1, using: &random)
            let x = Double.random(in: -1e-6...1e-6, using: &random)
            #expect(abs(Trigonometry.atan2(y, x) - atan2(y, x)) < 1e-15)
            #expect(abs(Trigonometry.atan2(x, y) - atan2(x, y)) < 1e-15)
            #expect(abs(Trigonometry.asin(y) - asin(y)) < 1e-15)
        }
        #expect(Trigonometry.atan2(0, -1) == .pi)
        #expect(Trigonometry.atan2(0, 0) == 0)
        #expect(Trigonometry.sin(.infinity).isNaN)
    }

    @Test(
        arguments: [(90.000001, 0), (-91, 0), (0, 180.1), (0, -181), (.nan, 0), (0, .infinity)] as [(Double, Double)])
    func `G1: a place out of range is refused`(numbers: (Double, Double)) {
        #expect(throws: MonitorError.self) { try Coordinate(latitude: numbers.0, longitude: numbers.1) }
    }
}
