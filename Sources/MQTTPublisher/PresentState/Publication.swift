/// A message to the broker.
package struct Publication: Sendable, Hashable {
    /// The quality of service (MQTT 3.1.1 §4.3).
    package enum QualityOfService: Int32, Sendable {
        /// At most once: sent without waiting for an acknowledgement.
        case atMostOnce = 0
        /// At least once: sent until the broker acknowledges it.
        case atLeastOnce = 1
    }

    /// The topic: without wildcards (MQTT 3.1.1 §4.7), at most 65,535 bytes.
    package var topic: String
    /// The payload. A retained message with an empty payload clears the topic (MQTT 3.1.1 §3.3.1.3).
    package var payload: [UInt8]
    /// The quality of service.
    package var quality: QualityOfService
    /// Whether the broker stores the message for later subscribers.
    package var isRetained: Bool

    /// Creates a message.
    package init(topic: String, payload: [UInt8], quality: QualityOfService, isRetained: Bool) {
        self.topic = topic
        self.payload = payload
        self.quality = quality
        self.isRetained = isRetained
    }
}
