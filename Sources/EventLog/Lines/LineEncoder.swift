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
    // What every line has: a reference, so that the closures which write a line hold one thing and copy nothing.
    private let head: LineHead
    // The adapters' names, each at its place.
    private var adapterNames: [String] = []

    /// An encoder that begins with the number after `sequence`.
    package init(_ options: Options, after sequence: Int = 0) {
        head = LineHead(options)
        self.sequence = sequence
    }

    /// Says what lines call an adapter; an adapter without a name has none in a sighting.
    package mutating func name(_ adapter: AdapterID, _ name: String) {
        while adapterNames.count <= Int(adapter.index) { adapterNames.append("") }
        adapterNames[Int(adapter.index)] = name
    }

    /// The adapter that has a name; absent if none has it.
    func adapter(named name: String) -> AdapterID? {
        adapterNames.firstIndex { !name.isEmpty && $0.utf8.elementsEqual(name.utf8) }.map { AdapterID(index: $0) }
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
        case .adapterNamed(let adapter, let name): self.name(adapter, name)
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
        let (head, sequence) = (head, sequence)
        head.envelope(type, name, of: beacon, qos: 1, into: &buffer) { buffer in
            head.write(type, into: &buffer)
            buffer.write("sequence", sequence)
            body(&buffer)
        }
    }

    /// Appends a line whose payload `payload` writes.
    func envelope(
        _ type: StaticString, _ name: String?, qos: Int, into buffer: inout LineBuffer,
        _ payload: (inout LineBuffer) -> Void
    ) {
        head.envelope(type, name, of: nil, qos: qos, into: &buffer, payload)
    }

    /// Writes what every payload begins with: the version, the type, the gateway and the boot.
    func writeHead(_ type: StaticString, into buffer: inout LineBuffer) { head.write(type, into: &buffer) }
}
