package import BaseTypes
package import BluetoothLE

/// The adapters of a capture that have had a record, and the marks of those that are not identified yet (rules L4, L7).
///
/// Bounds: as many adapters as ``AdapterTable`` has, and one mark for each name.
package struct CaptureAdapters: Sendable {
    /// A mark that an adapter starts or stops scanning.
    package struct Mark: Sendable {
        /// Whether it scans.
        package var isListening: Bool
        /// The time at which it had stopped, if that was recorded later.
        package var since: Instant?
    }

    /// For each index of ``CaptureReader/adapters``, whether the adapter has had a record.
    package private(set) var haveRecords: [Bool] = []
    private var marks: [String: Mark] = [:]
    private var gatewaysWithAddresses: Set<String> = []

    /// Creates an empty set.
    package init() {}

    /// Returns whether an adapter has had a record.
    @inline(__always)
    package func contains(_ place: Int) -> Bool { place < haveRecords.count && haveRecords[place] }

    /// Returns whether an adapter of the same gateway had an address.
    package func knowsAddresses(besides name: String) -> Bool { gatewaysWithAddresses.contains(Self.gateway(of: name)) }

    /// Returns the part of a name before its last slash, which distinguishes the adapters of several gateways.
    private static func gateway(of name: String) -> String {
        name.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(name[..<$0]) } ?? ""
    }

    /// Records that an adapter has its name and its address from now on. Another adapter with one of them counts as new
    /// at its next record.
    ///
    /// - Parameters:
    ///   - place: the index of the adapter.
    ///   - names: the names, by index.
    ///   - addresses: the addresses, by index.
    mutating func add(_ place: Int, _ names: [String], _ addresses: [DeviceAddress?]) {
        while haveRecords.count <= place { haveRecords.append(false) }
        if place < names.count {
            for other in haveRecords.indices where haveRecords[other] && other < names.count {
                let hasSameAddress = addresses[place] != nil && addresses[other] == addresses[place]
                if names[other] == names[place] || hasSameAddress { haveRecords[other] = false }
            }
            if addresses[place] != nil { gatewaysWithAddresses.insert(Self.gateway(of: names[place])) }
        }
        haveRecords[place] = true
    }

    /// An adapter that a record makes known.
    package struct Adapter: Sendable {
        /// The index in ``CaptureReader/adapters``.
        package var index: Int
        /// The name.
        package var name: String
        /// The address of the controller; `nil` if the capture does not have it.
        package var address: DeviceAddress?
        /// Whether it scans from this record on.
        package var listens: Bool
    }

    /// The consequences of a record for its adapter, before the content of the record.
    package struct Consequences: Sendable {
        /// The adapter, if this is its first record, or the first one since another controller had its name or address.
        package var added: Adapter?
        /// A mark of an earlier record that takes effect now.
        package var mark: Mark?
    }

    /// Returns whether a record must be passed to ``meet(_:of:knowsAddresses:)``: it is the first one of an adapter, or
    /// a mark waits for it.
    @inline(__always)
    package func mustMeet(_ record: CaptureRecord) -> Bool {
        guard let index = record.adapter else { return false }
        return record.endsWait || !contains(index)
    }

    /// Handles a record of a capture for which ``mustMeet(_:)`` returns `true`.
    ///
    /// - Parameters:
    ///   - record: the record.
    ///   - reader: the reader that returned it.
    ///   - knowsAddresses: returns whether another adapter of the gateway of the adapter with this name had an address.
    /// - Returns: the consequences; `nil` if the adapter of the record is not known yet, so that it is not handled.
    @inline(never)
    package mutating func meet(
        _ record: CaptureRecord, of reader: borrowing CaptureReader,
        knowsAddresses: (CaptureAdapters, _ besides: String) -> Bool
    ) -> Consequences? {
        guard let index = record.adapter else { return Consequences() }
        let (names, addresses) = (reader.adapters, reader.adapterAddresses)
        let name = index < names.count ? names[index] : "hci0"
        var consequences = Consequences()
        if !contains(index) {
            // The address will follow before the first report of this adapter.
            if record.awaitsAddress, knowsAddresses(self, name) {
                postpone(record, of: name)
                return nil
            }
            add(index, names, addresses)
            let mark = record.content.mark ?? (record.endsWait ? marks[name] : nil)
            consequences.added = Adapter(
                index: index, name: name, address: index < addresses.count ? addresses[index] : nil,
                listens: mark?.isListening ?? true)
        }
        consequences.mark = takeMark(before: record, of: name)
        return consequences
    }

    // MARK: Marks of adapters whose addresses will follow

    /// Stores the mark in a record of an adapter whose address will follow, until the record that ends the wait. A New
    /// Index is another controller, which has no mark yet.
    package mutating func postpone(_ record: CaptureRecord, of name: String) {
        if let mark = record.content.mark {
            marks[name] = mark
        } else if case .monitor(opcode: Btsnoop.Opcode.newIndex) = record.content {
            marks[name] = nil
        }
    }

    /// Returns and removes the last stored mark of the adapter of a record, if the record ends the wait.
    package mutating func takeMark(before record: CaptureRecord, of name: String) -> Mark? {
        record.endsWait ? marks.removeValue(forKey: name) : nil
    }
}
