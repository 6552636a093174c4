/// A message as it goes to the broker.
package struct Publication: Sendable, Hashable {
    /// How far its delivery is assured (MQTT 3.1.1 §4.3).
    package enum QualityOfService: Int32, Sendable {
        /// At most once: sent and forgotten.
        case atMostOnce = 0
        /// At least once: sent until the broker acknowledges it.
        case atLeastOnce = 1
    }

    /// Where it is published; no wildcards (MQTT 3.1.1 §4.7), at most 65,535 octets.
    package var topic: String
    /// Its body as it is sent; an empty one that is retained clears the topic (MQTT 3.1.1 §3.3.1.3).
    package var payload: [UInt8]
    /// How far its delivery is assured.
    package var quality: QualityOfService
    /// Whether the broker keeps it for those who subscribe later.
    package var isRetained: Bool

    /// Makes a message.
    package init(topic: String, payload: [UInt8], quality: QualityOfService, isRetained: Bool) {
        self.topic = topic
        self.payload = payload
        self.quality = quality
        self.isRetained = isRetained
    }
}
