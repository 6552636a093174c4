public import BeaconMonitoring
import BluetoothLE

/// Turns actions into lines: one JSON object each, keys in a fixed order, the same action to the same octets.
///
/// The lines are those of `docs/lines.schema.json`. `sequence` counts the lines of qos 1 from 1.
public struct LineEncoder: Sendable {
    /// What all lines of one gateway have in common.
    public struct Options: Sendable {
        /// The gateway's name: the second level of every topic.
        public var gateway: Identifier
        /// The first level of every topic.
        public var prefix = "beacons"
        /// The id of this start; absent in a replay.
        public var boot: String?
        /// Whether a line is an envelope with topic, qos and retain, or the payload alone.
        public var envelope = true

        /// The defaults, for a gateway.
        public init(gateway: Identifier) { self.gateway = gateway }
    }

    /// How many lines were numbered: the `sequence` of the last.
    public private(set) var sequence = 0
    private let options: Options
    // The adapters' names, each at its place.
    private var adapterNames: [String] = []
    // What every line begins with, made once.
    private let topicStart: [UInt8]
    private let payloadStart: [UInt8]
    private let gateway: [UInt8]
    // The same without a number to follow.
    private let gatewayAlone: [UInt8]

    /// An encoder that begins with the number after `sequence`.
    public init(_ options: Options, after sequence: Int = 0) {
        self.options = options
        self.sequence = sequence
        var buffer = LineBuffer(capacity: 1024)
        buffer.append("{\"topic\":\"")
        buffer.append(escaped: options.prefix)
        buffer.append(octet: UInt8(ascii: "/"))
        buffer.append(escaped: options.gateway.text)
        buffer.append(octet: UInt8(ascii: "/"))
        topicStart = buffer.bytes
        buffer.removeAll()
        buffer.append("{\"version\":")
        buffer.append(LineVersion.current)
        buffer.append(",\"type\":\"")
        payloadStart = buffer.bytes
        buffer.removeAll()
        buffer.append("\",\"gateway\":\"")
        buffer.append(escaped: options.gateway.text)
        if let boot = options.boot {
            buffer.append("\",\"boot\":\"")
            buffer.append(escaped: boot)
        }
        gatewayAlone = buffer.bytes + [UInt8(ascii: "\"")]
        buffer.append("\",\"sequence\":")
        gateway = buffer.bytes
    }

    /// Says what lines call an adapter; an adapter without a name has none in a sighting.
    public mutating func name(_ adapter: AdapterID, _ name: String) {
        while adapterNames.count <= Int(adapter.index) { adapterNames.append("") }
        adapterNames[Int(adapter.index)] = name
    }

    func adapterName(_ adapter: AdapterID) -> String {
        Int(adapter.index) < adapterNames.count ? adapterNames[Int(adapter.index)] : ""
    }

    /// Appends the line of an action, with its line end; an action that has no line appends nothing.
    public mutating func encode(_ action: Action, into buffer: inout LineBuffer) {
        switch action {
        case .event(let event): encode(event, into: &buffer)
        case .visit(let visit): encode(visit, into: &buffer)
        case .condition(let change): encode(change, into: &buffer)
        case .adapter(let change): encode(change, into: &buffer)
        case .trackingLimitExceeded: break
        }
    }

    /// Begins a line of qos 1: the envelope, and the payload up to the value of `sequence`. What is a beacon's own stands
    /// under a topic of its own, below its condition's.
    mutating func begin(
        _ type: StaticString, _ name: String?, of beacon: BeaconIdentity? = nil, into buffer: inout LineBuffer
    ) {
        sequence += 1
        if options.envelope {
            buffer.append(topicStart)
            buffer.append(type)
            if let name {
                buffer.append(octet: UInt8(ascii: "/"))
                buffer.append(escaped: name)
            }
            if let beacon { append(topicOf: beacon, into: &buffer) }
            buffer.append("\",\"qos\":1,\"retain\":false,\"payload\":")
        }
        buffer.append(payloadStart)
        buffer.append(type)
        buffer.append(gateway)
        buffer.append(sequence)
    }

    private func append(topicOf beacon: BeaconIdentity, into buffer: inout LineBuffer) {
        buffer.append(octet: UInt8(ascii: "/"))
        buffer.append(beacon.uuid)
        buffer.append(octet: UInt8(ascii: "/"))
        buffer.append(Int(beacon.major))
        buffer.append(octet: UInt8(ascii: "/"))
        buffer.append(Int(beacon.minor))
    }

    /// Begins a line of qos 0: the envelope, and the payload up to the gateway and the boot.
    func beginUnnumbered(_ type: StaticString, _ name: String, into buffer: inout LineBuffer) {
        if options.envelope {
            buffer.append(topicStart)
            buffer.append(type)
            buffer.append(octet: UInt8(ascii: "/"))
            buffer.append(escaped: name)
            buffer.append("\",\"qos\":0,\"retain\":false,\"payload\":")
        }
        beginUnpublished(type, into: &buffer)
    }

    /// Begins a line that is not published: the payload alone, without a number, up to the gateway and the boot.
    func beginUnpublished(_ type: StaticString, into buffer: inout LineBuffer) {
        buffer.append(payloadStart)
        buffer.append(type)
        buffer.append(gatewayAlone)
    }

    /// Ends the payload and the envelope.
    func end(_ buffer: inout LineBuffer) {
        if options.envelope { buffer.append("}}\n") } else { buffer.append("}\n") }
    }
}
