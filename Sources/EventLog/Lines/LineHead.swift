import BeaconMonitoring
import BluetoothLE
import JSON

/// The parts that all lines of a gateway have in common, encoded once: the start of the topic, and the members
/// `gateway` and `boot`.
final class LineHead: Sendable {
    private let hasEnvelope: Bool
    // The start of every topic, escaped for a JSON string.
    private let topicStart: [UInt8]
    // The members `gateway` and `boot`.
    private let source: [UInt8]

    init(_ options: LineEncoder.Options) {
        hasEnvelope = options.envelope
        var buffer = LineBuffer(capacity: 1024)
        buffer.append(escaped: "\(options.prefix)/\(options.gateway.text)/")
        topicStart = buffer.bytes
        buffer.removeAll()
        buffer.object { buffer in
            buffer.write("gateway", options.gateway.text)
            buffer.write("boot", options.boot)
        }
        source = Array(buffer.bytes.dropFirst().dropLast())
    }

    /// Appends a line with its line end. `payload` writes its payload.
    func envelope(
        _ type: StaticString, _ name: String?, of beacon: BeaconIdentity?, qos: Int, into buffer: inout LineBuffer,
        _ payload: (inout LineBuffer) -> Void
    ) {
        if hasEnvelope {
            buffer.object { buffer in
                buffer.key("topic")
                buffer.quoted { append(topicOf: type, name, beacon, into: &$0) }
                buffer.write("qos", qos)
                buffer.write("retain", false)
                buffer.object("payload", payload)
            }
        } else {
            buffer.object(payload)
        }
        buffer.append(byte: 0x0A)
    }

    private func append(
        topicOf type: StaticString, _ name: String?, _ beacon: BeaconIdentity?, into buffer: inout LineBuffer
    ) {
        buffer.append(topicStart)
        buffer.append(type)
        if let name {
            buffer.append(byte: UInt8(ascii: "/"))
            buffer.append(escaped: name)
        }
        guard let beacon else { return }
        buffer.append(byte: UInt8(ascii: "/"))
        buffer.append(beacon)
    }

    /// Writes the start of every payload: the version, the type, the gateway and the boot ID.
    func write(_ type: StaticString, into buffer: inout LineBuffer) {
        buffer.write("version", LineVersion.current)
        buffer.write("type", word: type)
        buffer.append(members: source)
    }
}
