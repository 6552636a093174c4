import TestSupport
import Testing

@testable import Location

/// Parsing of gpsd's reports.
@Suite struct GPSDReportTests {
    static let position = """
        {"class":"TPV","device":"/dev/pts/1","mode":3,"time":"2026-11-21T07:46:05.000Z","ept":0.005,"lat":48.208649667,\
        "lon":16.373800000,"altHAE":223.0000,"altMSL":180.0000,"alt":180.0000,"epv":34.500,"track":0.0000,\
        "speed":10.001,"climb":0.000,"eph":17.100,"sep":34.200}
        """

    @Test func `a report has the scalars of the first level, as gpsd 3.22 writes them`() throws {
        let report = try #require(GPSDReport(Array(Self.position.utf8)))
        #expect(report.text("class") == "TPV")
        #expect(report.number("mode") == 3)
        #expect(report.number("lat") == 48.208649667)
        #expect(report.number("eph") == 17.1)
        #expect(report.number("device") == nil)
        let devices =
            #"{"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/pts/1"},{"a":[1,[2]]}], "x" : null}"#
        #expect(GPSDReport(Array(devices.utf8))?.count("devices") == 2)
        #expect(GPSDReport(Array(#"{"devices":[]}"#.utf8))?.count("devices") == 0)
        #expect(GPSDReport(Array("{}\r".utf8)) != nil)
    }

    @Test(arguments: [
        "", "{", "}", "[]", "{]", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a":1}x"#, #"{"a":"b}"#, #"{"a":"\"#,
        #"{"a":"\u12"}"#, #"{"a":nan}"#, #"{"a":1e999}"#, #"{"a":--1}"#, #"{"a":0x10}"#, #"{"a":tru}"#, "{'a':1}",
        #"{"a":[1,2}"#, #"{"a":{"b"}}"#, "null", "\u{0}",
        "{\"a\":" + String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000) + "}",
        "{\"a\":" + String(repeating: "9", count: 500) + "}",
    ])
    func `text that is not a JSON object is not a report`(text: String) {
        #expect(GPSDReport(Array(text.utf8)) == nil)
    }

    @Test func `a damaged report is a report or rejected, and never traps`() {
        var random = SeededGenerator(state: SeededGenerator.seed)
        let position = Array(Self.position.utf8)
        let keys = GPSDReport(position)?.values.count ?? 0
        #expect(keys > 5)
        var (reports, none) = (0, 0)
        for _ in 0..<20_000 {
            guard let report = GPSDReport(mutated(position, &random)) else {
                none += 1
                continue
            }
            reports += 1
            // One change splits at most one key.
            #expect(report.values.count <= keys + 6)
        }
        #expect(reports > 1000 && none > 1000, "\(reports) were reports, \(none) were rejected")
    }
}
