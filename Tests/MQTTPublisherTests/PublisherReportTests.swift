import BaseTypes
import PublisherProtocol
import Testing

@testable import MQTTPublisher

/// The problems that a publisher reports to operators, and how often it logs them.
@Suite struct PublisherReportTests {
    private static let start = Instant(nanoseconds: 1_000_000_000_000)
    private static func at(_ seconds: Int) -> Instant { start + .seconds(seconds) }
    private static let away = BrokerError.unreachable("broker:1883", "Connection refused")

    @Test func `an error that continues is logged once an hour, and is always in the status`() {
        let report = PublisherReport(at: Self.start)
        for second in 0..<3600 { report.say(Self.away, at: Self.at(second)) }
        #expect(report.takeRemarks().count == 1)
        #expect(report.status.brokerFailure?.hasPrefix("the broker at broker:1883 can't be reached") == true)
        report.say(Self.away, at: Self.at(3600))
        #expect(report.takeRemarks().map(\.isError) == [true])
    }

    @Test func `the end of an error is logged once, and the same error within the hour is not logged again`() {
        let report = PublisherReport(at: Self.start)
        report.recovered("it takes lines")
        #expect(report.takeRemarks().map(\.text) == ["it takes lines"])
        report.recovered("it takes lines")
        report.say(Self.away, at: Self.at(1))
        report.recovered("it takes lines")
        report.say(Self.away, at: Self.at(2))
        report.recovered("it takes lines")
        #expect(report.takeRemarks().map(\.isError) == [true, false])
        #expect(report.status.brokerFailure == nil)
    }

    @Test func `an error of local files is logged when it changes, and its end is logged with the same text`() {
        let report = PublisherReport(at: Self.start)
        for _ in 0..<9 { report.note(.checkpoint, "it can't be written") }
        report.note(.events, "they can't be read")
        #expect(report.localFailure == "they can't be read" && report.hasFailure(with: .checkpoint))
        report.note(.events, nil)
        report.note(.checkpoint, nil)
        report.note(.checkpoint, nil)
        #expect(
            report.takeRemarks().map(\.text) == [
                "it can't be written", "they can't be read", "over: they can't be read", "over: it can't be written",
            ])
        #expect(report.localFailure == nil)
    }

    @Test func `each line that is set aside is counted, and at most ten an hour are logged`() {
        let report = PublisherReport(at: Self.start)
        for number in 0..<1000 { report.noteSetAside("line \(number)", at: Self.at(number)) }
        #expect(report.status.setAside == 1000 && report.takeRemarks().count == 10)
        report.noteSetAside("line 1000", at: Self.at(3600))
        #expect(report.takeRemarks().count == 1)
    }

    @Test func `40 different errors, which are more than the report remembers, are all logged`() {
        let report = PublisherReport(at: Self.start)
        for number in 0..<40 { report.say(.ended(UInt8(number), "x"), at: Self.start) }
        #expect(report.takeRemarks().count == 40)
    }
}
