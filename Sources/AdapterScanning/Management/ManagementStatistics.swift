/// What a ``ManagementScanner`` counted since it was made.
package struct ManagementStatistics: Sendable, Hashable {
    /// Messages received, of all kinds.
    package var messages = 0
    /// Advertising reports handed over.
    package var reports = 0
    /// Messages that the kernel dropped because the receive buffer was full.
    package var dropped = 0
    /// Messages that were too long, or shorter than they said.
    package var malformed = 0
    /// Commands sent.
    package var commands = 0
    /// Times that ``ManagementOptions/recordFile`` could not be written.
    package var recordFailures = 0
    /// The receive buffer as the kernel counts it, in octets: what was asked for, doubled (socket(7)).
    package var receiveBufferBytes = 0
}
