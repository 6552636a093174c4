import Foundation
import ProgramSupport
import Testing

/// The folders of a simulated site, and commands that read them in the zone of the site.
struct SiteFolders {
    let scratch: Scratch
    static let zone = "Europe/Vienna"

    init() throws { scratch = try Scratch() }

    static func calendar() throws -> Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: zone))
        return calendar
    }

    static func midnight(_ year: Int, _ month: Int, _ day: Int) throws -> Int {
        let date = try #require(try calendar().date(from: DateComponents(year: year, month: month, day: day)))
        return Int(date.timeIntervalSince1970)
    }

    func folders(_ model: SiteModel) throws -> [String] {
        try model.gateways.map { gateway in
            let path = scratch.path(gateway.name)
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let reported = gateway.lines()
            try Data(reported.lines.map { $0 + "\n" }.joined().utf8).write(
                to: URL(fileURLWithPath: path + "/events-000000000001-20260101T000000Z.jsonl"))
            try Data(reported.alive.utf8).write(to: URL(fileURLWithPath: path + "/alive"))
            return path
        }
    }

    func report(_ arguments: [String]) throws -> Ending {
        let ending = try run("/usr/bin/env", ["TZ=\(Self.zone)", Gateway.path] + arguments)
        #expect(ending.status == 0, "\(ending.errors)")
        return ending
    }

    /// Returns the bounds of the intervals between two dates, computed by Foundation's calendar.
    static func bounds(from: Int, to: Int, minutes: Int) throws -> [Int] {
        let calendar = try calendar()
        var bounds: [Int] = []
        var day = calendar.startOfDay(for: Date(timeIntervalSince1970: Double(from)))
        while Int(day.timeIntervalSince1970) < to {
            let next = try #require(calendar.date(byAdding: .day, value: 1, to: day))
            let (begin, end) = (Int(day.timeIntervalSince1970), Int(next.timeIntervalSince1970))
            bounds += stride(from: begin, to: end, by: minutes == 1440 ? 172_800 : minutes * 60)
            day = next
        }
        bounds.append(Int(day.timeIntervalSince1970))
        let first = try #require(bounds.lastIndex { $0 <= from })
        let last = try #require(bounds.firstIndex { $0 >= to })
        return Array(bounds[first...last])
    }
}
