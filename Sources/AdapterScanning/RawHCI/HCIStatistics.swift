package import BluetoothLE

/// What an ``HCIScanner`` counted since it was made.
package struct HCIStatistics: Sendable {
    /// Packets received, of all kinds and adapters.
    package var packets = 0
    /// Advertising reports handed over.
    package var reports = 0
    /// Packets that the kernel dropped because a receive buffer was full.
    package var dropped = 0
    /// Packets that were too long, and management messages shorter than they said.
    package var malformed = 0
    /// HCI commands sent.
    package var commands = 0
    /// HCI commands that could not be sent.
    package var commandsRefused = 0
    /// What was malformed in the reports, by kind, of adapters that are there no more and of those that are.
    package var malformations = MalformationCounts()
}
