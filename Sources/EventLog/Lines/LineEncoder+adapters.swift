import BeaconMonitoring
import JSON

// The lines of adapters, and their names in the lines of sightings.
extension LineEncoder {
    mutating func encode(_ change: AdapterChange, into buffer: inout LineBuffer) {
        line("adapter", Self.topicLevel(change.adapter), into: &buffer) { buffer in
            buffer.write("adapter", change.adapter)
            if let address = change.address { buffer.write("address", address) }
            buffer.write("state", word: change.state.word)
            buffer.write("since", WallDate(change.since, offset: change.clockOffset))
            buffer.write("reason", change.reason)
            buffer.write(change.time, change.clockOffset)
        }
    }

    /// The name as it may stand in a topic: a capture can name its adapters as it likes, and MQTT forbids wildcards and
    /// control characters there (MQTT 5.0 §4.7.1, §1.5.4).
    private static func topicLevel(_ name: String) -> String {
        let isSafe = name.utf8.allSatisfy {
            $0 > 0x1F && $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "#") && $0 < 0x7F
        }
        guard !isSafe else { return name }
        var safe = ""
        for scalar in name.unicodeScalars {
            let isForbidden = scalar == "+" || scalar == "#" || scalar.properties.generalCategory == .control
            safe.unicodeScalars.append(isForbidden ? "_" : scalar)
        }
        return safe
    }
}

extension AdapterChange.State {
    /// The state as lines spell it.
    var word: StaticString {
        switch self {
        case .listening: "listening"
        case .deaf: "deaf"
        case .off: "off"
        case .gone: "gone"
        }
    }
}
