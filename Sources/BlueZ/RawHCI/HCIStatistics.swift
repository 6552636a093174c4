public import BluetoothLE

/// What an ``HCIScanner`` counted since it was made.
public struct HCIStatistics: Sendable {
    /// Packets received, of all kinds and adapters.
    public var packets = 0
    /// Advertising reports handed over.
    public var reports = 0
    /// Packets that the kernel dropped because a receive buffer was full.
    public var dropped = 0
    /// Packets that were too long, and management messages shorter than they said.
    public var malformed = 0
    /// HCI commands sent.
    public var commands = 0
    /// HCI commands that could not be sent.
    public var commandsRefused = 0
    /// What was malformed in the reports, by kind, of adapters that are there no more and of those that are.
    public var malformations = MalformationCounts()

    /// Nothing counted yet.
    public init() {}
}
