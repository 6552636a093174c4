package import BaseTypes
package import BluetoothLE

/// The adapters of a capture of which a record was handled, and the marks of those that are not identified yet (rules L4, L7).
///
/// Bounds: as many adapters as ``AdapterTable`` has, and one mark for each name.
package struct MetAdapters: Sendable {
    /// A mark that an adapter listens, or does not.
    package struct Mark: Sendable {
        /// Whether it listens.
        package var isListening: Bool
        /// When it had stopped, if that was noticed later.
        package var since: Instant?
    }

    /// Whether each adapter was met, by its place in ``CaptureReader/adapters``.
    package private(set) var areMet: [Bool] = []
    private var marks: [String: Mark] = [:]
    private var gatewaysWithAddresses: Set<String> = []

    /// No adapter was met.
    package init() {}

    /// Whether an adapter was met.
    @inline(__always)
    package func contains(_ place: Int) -> Bool { place < areMet.count && areMet[place] }

    /// Whether an adapter of the same gateway was met with an address.
    package func knowsAddresses(besides name: String) -> Bool { gatewaysWithAddresses.contains(Self.gateway(of: name)) }

    /// The part of a name before its last slash, which distinguishes the adapters of several gateways.
    private static func gateway(of name: String) -> String {
        name.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(name[..<$0]) } ?? ""
    }

    /// Notes that an adapter has its name and its address from now on. An adapter that had either is to be met again when a
    /// record of it comes.
    ///
    /// - Parameters:
    ///   - place: The adapter's place.
    ///   - names: The names, by place.
    ///   - addresses: The addresses, by place.
    package mutating func meet(_ place: Int, _ names: [String], _ addresses: [DeviceAddress?]) {
        while areMet.count <= place { areMet.append(false) }
        if place < names.count {
            for other in areMet.indices where areMet[other] && other < names.count {
                let hasSameAddress = addresses[place] != nil && addresses[other] == addresses[place]
                if names[other] == names[place] || hasSameAddress { areMet[other] = false }
            }
            if addresses[place] != nil { gatewaysWithAddresses.insert(Self.gateway(of: names[place])) }
        }
        areMet[place] = true
    }

    // MARK: Marks of adapters whose addresses are still to come

    /// Keeps the mark in a record of an adapter whose address is still to come, for the record that ends the wait. A New
    /// Index is another controller: it has no mark yet.
    package mutating func postpone(_ record: CaptureRecord, of name: String) {
        if let mark = record.content.mark {
            marks[name] = mark
        } else if case .monitor(opcode: Btsnoop.Opcode.newIndex) = record.content {
            marks[name] = nil
        }
    }

    /// The last mark that was postponed for the adapter of a record, if the record ends the wait.
    package func mark(before record: CaptureRecord, of name: String) -> Mark? { record.endsWait ? marks[name] : nil }

    /// Returns the same mark, once.
    package mutating func takeMark(before record: CaptureRecord, of name: String) -> Mark? {
        record.endsWait ? marks.removeValue(forKey: name) : nil
    }
}
