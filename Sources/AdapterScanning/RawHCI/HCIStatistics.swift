package import BluetoothLE

/// The counters of an ``HCIScanner`` since it was created.
package struct HCIStatistics: Sendable {
    /// The number of received packets, of all kinds and adapters.
    package var packets = 0
    /// The number of delivered advertising reports.
    package var reports = 0
    /// The number of packets that the kernel dropped because a receive buffer was full.
    package var dropped = 0
    /// The number of packets that were too long, and of management messages that were shorter than announced.
    package var malformed = 0
    /// The number of HCI commands that were sent.
    package var commands = 0
    /// The number of HCI commands that could not be sent.
    package var commandsRefused = 0
    /// The malformed reports by kind, also of adapters that were removed.
    package var malformations = MalformationCounts()
}
