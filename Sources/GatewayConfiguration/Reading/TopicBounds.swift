internal import BeaconMonitoring

/// The lengths of topics. AWS IoT Core accepts at most seven slashes and 256 bytes, and closes the connection after a
/// longer topic ("AWS IoT Core message broker and protocol limits and quotas"). Other brokers accept 65,535 bytes (MQTT
/// 5 §1.5.4).
enum TopicBounds {
    static let slashesMost = 7
    static let bytesMost = 256

    /// The longest topic of a condition.
    struct Longest {
        var slashes: Int
        var bytes: Int
    }

    // `/F7826DA6-4FA2-4E98-8024-BC5B71E0893E/65535/65535`
    private static let beaconBytes = 49
    // `beacon_-`, and `_-F7826DA6-4FA2-4E98-8024-BC5B71E0893E_-65535_-65535`.
    private static let trackerObjectBytes = 8 + 52

    /// Returns the largest numbers of slashes and bytes in the topics of a condition.
    static func longest(
        _ condition: ConditionConfiguration, _ mqtt: MQTTConfiguration, gateway: String
    ) -> Longest {
        let base = "\(mqtt.prefix)/\(gateway)"
        let isEach = condition.settings.perBeacon && !condition.condition.isCircle
        // `condition` is the longest of the types whose topics end with the name of a condition.
        var longest = Longest(
            slashes: slashes(base) + (isEach ? 5 : 2),
            bytes: base.utf8.count + "/condition/".utf8.count + condition.identifier.text.utf8.count)
        guard isEach else { return longest }
        let type = mqtt.homeAssistant ? "/tracker/" : "/visit/"
        longest.bytes = max(
            longest.bytes, base.utf8.count + type.utf8.count + condition.identifier.text.utf8.count + beaconBytes)
        guard mqtt.homeAssistant else { return longest }
        // Discovery: <prefix>/device_tracker/<node>/<object>/config.
        longest.slashes = max(longest.slashes, slashes(mqtt.homeAssistantPrefix) + 4)
        longest.bytes = max(
            longest.bytes,
            mqtt.homeAssistantPrefix.utf8.count + "/device_tracker/".utf8.count + spelledBytes(base) + 1
                + trackerObjectBytes + spelledBytes(condition.identifier.text) + "/config".utf8.count)
        return longest
    }

    private static func slashes(_ text: String) -> Int { text.utf8.count { $0 == UInt8(ascii: "/") } }

    /// Returns the length of a name in discovery topics, which allow only letters, digits and `-`: `_` is doubled, and
    /// other bytes are replaced by three characters.
    private static func spelledBytes(_ text: String) -> Int {
        text.utf8.reduce(0) { sum, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                sum + 1
            case UInt8(ascii: "_"): sum + 2
            default: sum + 3
            }
        }
    }
}

extension Configuration {
    /// Returns warnings about topics that are too long for some brokers, at the first condition with one.
    func topicWarnings(file: String) -> [ConfigurationIssue] {
        guard let mqtt else { return [] }
        let conditions = monitors.flatMap(\.conditions).map {
            ($0, TopicBounds.longest($0, mqtt, gateway: gatewayName?.text ?? ""))
        }
        func warning(_ what: String, _ most: Int, _ count: (TopicBounds.Longest) -> Int) -> ConfigurationIssue? {
            let over = conditions.filter { count($0.1) > most }
            guard let (condition, longest) = over.first else { return nil }
            let others = over.count == 1 ? "" : " (and \(over.count - 1) more)"
            return ConfigurationIssue(
                file: file, position: condition.position,
                message: "topics of \(condition.identifier)\(others) have up to \(count(longest)) \(what)",
                hint:
                    "AWS IoT Core takes at most \(most); shorten mqtt.prefix or names, or ignore this with another broker"
            )
        }
        return [
            warning("slashes", TopicBounds.slashesMost, \.slashes), warning("bytes", TopicBounds.bytesMost, \.bytes),
        ].compactMap(\.self)
    }
}
