import MQTTPublisher
import Testing

@Suite struct PublicationTests {
    @Test func `the QoS levels have the numbers of the protocol`() {
        #expect(Publication.QualityOfService.atMostOnce.rawValue == 0)
        #expect(Publication.QualityOfService.atLeastOnce.rawValue == 1)
    }
}
