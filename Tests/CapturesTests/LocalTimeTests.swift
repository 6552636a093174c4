import Captures
import Testing

/// Times without an offset, read in a zone whose clocks go forward from 01:00 to 02:00 and back from 03:00 to 02:00.
@Suite struct LocalTimeTests {
    /// The changes of the clocks, at 2025-03-30T00:00:00Z and 2025-10-26T01:00:00Z. The offset from UTC is two hours
    /// between them, otherwise one hour.
    static let (forward, back): (Int64, Int64) = (1_743_292_800, 1_761_440_400)
    static let zone = CaptureZone(name: "here") { $0 < forward || $0 >= back ? 3600 : 7200 }

    private func contents(of times: [String]) throws -> Contents {
        let log = times.map { "{\"time\":\"\($0)\",\"data\":\"\"}\n" }.joined()
        return try CapturesTests.contents(
            .bytes(Array(log.utf8), name: "test"), options: CaptureOptions(zone: Self.zone))
    }

    /// Returns the times of the records, in seconds after the clocks go back.
    private func seconds(_ times: String...) throws -> [Double] {
        try contents(of: times).records.map { Double($0.numbers[0] - Self.back * 1_000_000_000) / 1_000_000_000 }
    }

    @Test func `a time in the repeated hour is its first occurrence until times go back by more than a minute`() throws
    {
        #expect(try seconds("2025-10-26 02:30:00") == [-1800])
        #expect(try seconds("2025-10-26 01:59:59", "2025-10-26 02:00:00.25") == [-3601, -3599.75])
        #expect(try seconds("2025-10-26 02:59:59.9", "2025-10-26 02:00:00", "2025-10-26 02:30:00") == [-0.1, 0, 1800])
        #expect(try seconds("2025-10-26 02:30:00", "2025-10-26 02:29:00") == [-1800, -1860])
        #expect(try seconds("2025-10-26 02:30:00", "2025-10-26 02:28:59") == [-1800, 1739])
        // After the end of the repeated hour, a time in it is its second occurrence.
        #expect(try seconds("2025-10-26 03:00:00", "2025-10-26 02:30:00") == [3600, 1800])
        // A time with an offset is unambiguous, and determines the occurrence of the times after it.
        #expect(try seconds("2025-10-26T02:30:00+01:00", "2025-10-26T02:30:00+02:00") == [1800, -1800])
        #expect(try seconds("2025-10-26T02:10:00+01:00", "2025-10-26 02:11:00") == [600, 660])
    }

    @Test func `a refused record does not change the occurrence of later times`() throws {
        #expect(try seconds("2025-10-26 02:10:00", "2105-10-26 02:10:00", "2025-10-26 02:11:00") == [-3000, -2940])
        let dump = ["2025-10-26 02:10:00", "2105-10-26 02:10:00", "2025-10-26 02:11:00"].map { "\($0).0 > 04 0E 00\n" }
        let found = try CapturesTests.contents(
            .bytes(Array(dump.joined().utf8), name: "test"), options: CaptureOptions(zone: Self.zone))
        #expect(found.records.map { $0.numbers[0] / 1_000_000_000 - Self.back } == [-3000, -2940])
    }

    @Test func `since in the repeated hour is not after its record, and does not affect later times`() throws {
        let log = [
            #"{"time":"2025-10-26 02:50:00","data":""}"#, #"{"time":"2025-10-26 02:05:00","data":""}"#,
            #"{"time":"2025-10-26 02:10:00","listening":false,"since":"2025-10-26 01:55:00"}"#,
            #"{"time":"2025-10-26 02:11:00","listening":false,"since":"2025-10-26 02:30:00"}"#,
            #"{"time":"2025-10-26 02:12:00","listening":false,"since":"2025-10-26 02:12:00"}"#,
        ]
        let found = try CapturesTests.contents(
            .bytes(Array(log.joined().utf8), name: "test"), options: CaptureOptions(zone: Self.zone))
        #expect(found.records.map { $0.numbers[0] / 1_000_000_000 - Self.back } == [-600, 300, 600, 660, 720])
        #expect(
            found.records.dropFirst(2).map { ($0.numbers.last ?? 0) / 1_000_000_000 - Self.back } == [
                -3900, -1800, 720,
            ])
    }

    @Test(
        arguments: [
            (["2025-10-26 02:30:00"], 1), (["2025-10-26 01:50:00", "2025-10-26 02:00:00"], nil),
            (["2025-10-26 01:49:59", "2025-10-26 02:00:00"], 2), (["2025-10-26 02:30:00", "2025-10-26 02:00:00"], nil),
            (["2025-10-26 02:30:00", "2025-10-26 03:00:00"], 1), (["2025-10-26 03:00:00"], nil),
            (["2025-10-26 01:49:59", "2025-10-26 02:30:00", "2025-10-26 04:00:00", "2025-10-26 02:30:00"], 2),
        ] as [([String], Int?)])
    func `the first time that can be either occurrence is reported with its line`(times: [String], line: Int?) throws {
        let dump = times.map { "\($0).0 > 04 0E 00\n" }.joined()
        var reader = try CaptureReader(
            .bytes(Array(dump.utf8), name: "test"), options: CaptureOptions(zone: Self.zone))
        while try reader.next() != nil {}
        let found = reader.localTimes.ambiguousLine
        #expect(found == line)
    }

    @Test func `a time that the clocks skip is refused, and the times around it are read`() throws {
        let found = try contents(of: [
            "2025-03-30 00:59:59.999", "2025-03-30 01:00:00", "2025-03-30 01:59:59", "2025-03-30 02:00:00",
        ])
        #expect(
            found.records.map { $0.numbers[0] } == [
                Self.forward * 1_000_000_000 - 1_000_000, Self.forward * 1_000_000_000,
            ])
        #expect(
            found.damages.map(\.description) == [
                #"record 2 at line 2, byte 45: time is "2025-03-30 01:00:00", which does not exist in here: the clocks went "#
                    + "forward at this time",
                #"record 3 at line 3, byte 86: time is "2025-03-30 01:59:59", which does not exist in here: the clocks went "#
                    + "forward at this time",
            ])
    }

    @Test(arguments: [(2_699, nil), (2_700, 2_700), (3_900, 3_900), (3_901, nil)] as [(Int, Int?)])
    func `a step back of 45 to 65 minutes is reported as a change of the clock`(step: Int, reported: Int?) throws {
        func text(_ second: Int) -> String {
            func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
            return "2025-06-01 \(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60)).0 > 04 0E 00\n"
        }
        let dump = text(40_000) + text(40_000 - step) + text(40_000)
        var reader = try CaptureReader(.bytes(Array(dump.utf8), name: "test"))
        while try reader.next() != nil {}
        let times = reader.localTimes
        #expect(times.count == 3 && times.zone == nil)
        #expect(times.clockChange?.seconds == reported)
        #expect(times.clockChange.map(\.line) == reported.map { _ in 2 })
    }

    @Test func `a local time outside 1970…2100 is refused`() throws {
        let found = try contents(of: [
            "1970-01-01 00:59:59", "1970-01-01 01:00:00", "2101-01-01 00:59:59", "2101-01-01 01:00:00",
        ])
        #expect(found.records.map { $0.numbers[0] } == [0, 4_133_980_799_000_000_000])
        #expect(found.damages.map(\.line) == [1, 4])
    }
}
