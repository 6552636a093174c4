import Testing

@testable import MQTTPublisher

/// The first line of each topic is sent alone.
@Suite struct TopicTrialTests {
    private var trial = TopicTrial()

    private mutating func holds(_ name: String, inFlight: Int) -> Bool {
        trial.holds(Array(name.utf8) + [0], inFlight: inFlight)
    }

    @Test mutating func `a new topic waits until nothing is in flight, and is then alone until it is accepted`() {
        let first = [holds("a", inFlight: 3), trial.isUnderWay, holds("a", inFlight: 0), trial.isUnderWay]
        #expect(first == [true, false, false, true])
        trial.passed()
        let then = [trial.isUnderWay, holds("a", inFlight: 200), holds("b", inFlight: 1)]
        #expect(then == [false, false, true])
    }

    @Test mutating func `a topic that was refused or forgotten is tried alone again`() {
        let first = holds("a", inFlight: 0)
        trial.abandon()
        trial.passed()
        let again = [holds("a", inFlight: 1), holds("a", inFlight: 0)]
        trial.passed()
        trial.forget()
        let forgotten = holds("a", inFlight: 1)
        #expect(!first && again == [true, false] && forgotten)
    }
}
