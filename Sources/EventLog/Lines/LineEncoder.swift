package import BeaconMonitoring
import BluetoothLE
package import JSON

/// Turns actions into lines: one JSON object each, keys in a fixed order, the same action to the same octets.
///
/// The lines are those of `docs/lines.schema.json`. `sequence` counts the lines of qos 1 from 1.
package struct LineEncoder: Sendable {
    /// What all lines of one gateway have in common.
    package struct Options: Sendable {
        /// The gateway's name: the second level of every topic.
        package var gateway: Identifier
        /// The first level of every topic.
        package var prefix = "beacons"
        /// The id of this start; absent in a replay.
        package var boot: String?
        /// Whether a line is an envelope with topic, qos and retain, or the payload alone.
        package var envelope = true

        /// The defaults, for a gateway.
        package init(gateway: Identifier) { self.gateway = gateway }
    }

    /// How many lines were numbered: the `sequence` of the last.
    package private(set) var sequence = 0
    private let options: Options
    // The adapters' names, each at its place.
    private var adapterNames: [String] = []
    // What every line has, made once: how its topic begins, the gateway's name and the boot, as they stand in strings.
    private let topicStart: [UInt8]
    private let gateway: [UInt8]
    private let boot: [UInt8]

    /// An encoder that begins with the number after `sequence`.
    package init(_ options: Options, after sequence: Int = 0) {
        func escaped(_ text: String) -> [UInt8] {
            var buffer = LineBuffer(capacity: 1024)
            buffer.append(escaped: text)
            return buffer.bytes
        }
        self.options = options
        self.sequence = sequence
        topicStart = escaped("\(options.prefix)/\(options.gateway.text)/")
        gateway = escaped(options.gateway.text)
        boot = escaped(options.boot ?? "")
    }

    /// Says what lines call an adapter; an adapter without a name has none in a sighting.
    package mutating func name(_ adapter: AdapterID, _ name: String) {
        while adapterNames.count <= Int(adapter.index) { adapterNames.append("") }
        adapterNames[Int(adapter.index)] = name
    }

    func adapterName(_ adapter: AdapterID) -> String {
        Int(adapter.index) < adapterNames.count ? adapterNames[Int(adapter.index)] : ""
    }

    /// Appends the line of an action, with its line end; an action that has no line appends nothing.
    package mutating func encode(_ action: Action, into buffer: inout LineBuffer) {
        switch action {
        case .event(let event): encode(event, into: &buffer)
        case .visit(let visit): encode(visit, into: &buffer)
        case .condition(let change): encode(change, into: &buffer)
        case .adapter(let change): encode(change, into: &buffer)
        case .trackingLimitExceeded: break
        }
    }

    /// Appends a line of qos 1: the envelope, and in it the payload with the next number; `body` writes what is told. What
    /// is a beacon's own stands under a topic of its own, below its condition's.
    mutating func line(
        _ type: StaticString, _ name: String?, of beacon: BeaconIdentity? = nil, into buffer: inout LineBuffer,
        _ body: (inout LineBuffer) -> Void
    ) {
        sequence += 1
        envelope(type, name, of: beacon, qos: 1, into: &buffer) { buffer in
            writeHead(type, into: &buffer)
            buffer.write("sequence", sequence)
            body(&buffer)
        }
    }

    /// Appends a line whose payload `payload` writes.
    func envelope(
        _ type: StaticString, _ name: String?, of beacon: BeaconIdentity? = nil, qos: Int,
        into buffer: inout LineBuffer,
        _ payload: (inout LineBuffer) -> Void
    ) {
        if options.envelope {
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
        buffer.append(octet: 0x0A)
    }

    private func append(
        topicOf type: StaticString, _ name: String?, _ beacon: BeaconIdentity?, into buffer: inout LineBuffer
    ) {
        buffer.append(topicStart)
        buffer.append(type)
        if let name {
            buffer.append(octet: UInt8(ascii: "/"))
            buffer.append(escaped: name)
        }
        guard let beacon else { return }
        buffer.append(octet: UInt8(ascii: "/"))
        buffer.append(beacon.uuid)
        buffer.append(octet: UInt8(ascii: "/"))
        buffer.append(Int(beacon.major))
        buffer.append(octet: UInt8(ascii: "/"))
        buffer.append(Int(beacon.minor))
    }

    /// Writes what every payload begins with: the version, the type, the gateway and the boot.
    func writeHead(_ type: StaticString, into buffer: inout LineBuffer) {
        buffer.write("version", LineVersion.current)
        buffer.write("type", word: type)
        buffer.key("gateway")
        buffer.quoted { $0.append(gateway) }
        guard options.boot != nil else { return }
        buffer.key("boot")
        buffer.quoted { $0.append(boot) }
    }
}
