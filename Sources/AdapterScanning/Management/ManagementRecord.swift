import BluetoothLE

/// The changes that a process made on adapters, with the evidence whether they are still unchanged: the text of
/// ``ManagementOptions/recordFile``.
///
/// The format is readable text:
///
///     beacon-gateway-management 1
///     boot 5f0c…
///     owner 812 4711
///     daemon 655 1490
///     adapter 0 00:AA:01:00:00:42 9127 monitors 1 settings 19:96 20:48
struct ManagementRecord: Sendable, Hashable {
    /// The state of the machine when the record was written.
    var evidence: MachineEvidence
    /// The changes.
    var changes: [AdapterChanges]

    private static let heading = "beacon-gateway-management 1"

    /// Returns the changes that are certainly still in effect and that no other program will undo.
    ///
    /// - Parameters:
    ///   - present: the present state of the machine.
    ///   - ownerIsAlive: whether the process that wrote the record still exists.
    /// - Returns: the changes to undo; empty if they may belong to another process now.
    func remaining(in present: MachineEvidence, ownerIsAlive: Bool) -> [AdapterChanges] {
        guard !ownerIsAlive, present.boot == evidence.boot, present.daemons == evidence.daemons else { return [] }
        return changes.filter { change in
            guard let inode = evidence.inodes[change.index] else { return false }
            return present.inodes[change.index] == inode
        }
    }

    /// The text of the record.
    var text: String {
        var lines = [Self.heading, "boot \(evidence.boot)", "owner \(evidence.owner.number) \(evidence.owner.start)"]
        lines += evidence.daemons.map { "daemon \($0.number) \($0.start)" }
        for change in changes {
            guard let inode = evidence.inodes[change.index] else { continue }
            let address = DeviceAddress(change.address, kind: .public)
            var words = ["adapter", "\(change.index)", "\(address)", "\(inode)", "monitors"]
            words += change.handles.map { "\($0)" }
            words.append("settings")
            words += change.previous.values.sorted { $0.key.rawValue < $1.key.rawValue }
                .map { "\($0.key.rawValue):\($0.value)" }
            lines.append(words.joined(separator: " "))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Creates a record.
    init(evidence: MachineEvidence, changes: [AdapterChanges]) {
        self.evidence = evidence
        self.changes = changes
    }

    /// Parses a record. Returns `nil` if any part of the text is invalid.
    init?(_ text: String) {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.split(separator: " ") }
        // The last line ends with a newline too, unless the text was truncated.
        guard lines.popLast()?.isEmpty == true, lines.count >= 3,
            lines.removeFirst().joined(separator: " ") == Self.heading
        else { return nil }
        var boot: String?
        var owner: ProcessIdentity?
        var daemons: [ProcessIdentity] = []
        var inodes: [UInt16: UInt64] = [:]
        changes = []
        for words in lines {
            switch words.first {
            case "boot" where words.count == 2: boot = String(words[1])
            case "owner":
                guard let process = Self.process(words) else { return nil }
                owner = process
            case "daemon":
                guard let process = Self.process(words) else { return nil }
                daemons.append(process)
            case "adapter":
                guard let (change, inode) = Self.change(words) else { return nil }
                changes.append(change)
                inodes[change.index] = inode
            default: return nil
            }
        }
        guard let boot, let owner else { return nil }
        evidence = MachineEvidence(boot: boot, owner: owner, daemons: daemons, inodes: inodes)
    }

    private static func process(_ words: [Substring]) -> ProcessIdentity? {
        guard words.count == 3, let number = Int(words[1]), let start = UInt64(words[2]) else { return nil }
        return ProcessIdentity(number: number, start: start)
    }

    private static func change(_ words: [Substring]) -> (AdapterChanges, inode: UInt64)? {
        guard words.count >= 6, words[4] == "monitors", let index = UInt16(words[1]),
            let address = DeviceAddress(words[2], kind: .public), let inode = UInt64(words[3]),
            let settings = words.firstIndex(of: "settings"), settings >= 5
        else { return nil }
        var change = AdapterChanges(
            index: index, address: address.value, handles: [], previous: ScanConfiguration())
        for word in words[5..<settings] {
            // 0 would mean all monitors, also those of other programs.
            guard let handle = UInt16(word), handle != 0 else { return nil }
            change.handles.append(handle)
        }
        for word in words[(settings + 1)...] {
            let parts = word.split(separator: ":")
            guard parts.count == 2, let number = UInt16(parts[0]), let value = UInt16(parts[1]),
                let parameter = ScanConfiguration.Parameter(rawValue: number)
            else { return nil }
            change.previous[parameter] = value
        }
        return (change, inode)
    }
}
