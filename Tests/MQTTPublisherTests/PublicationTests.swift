import MQTTPublisher
import Testing

@Suite struct PublicationTests {
    @Test func `the qualities of service have the protocol's numbers`() {
        #expect(Publication.QualityOfService.atMostOnce.rawValue == 0)
        #expect(Publication.QualityOfService.atLeastOnce.rawValue == 1)
    }
}
