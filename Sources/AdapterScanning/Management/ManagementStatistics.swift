/// The counters of a ``ManagementScanner`` since it was created.
package struct ManagementStatistics: Sendable, Hashable {
    /// The number of received messages of all kinds.
    package var messages = 0
    /// The number of delivered advertising reports.
    package var reports = 0
    /// The number of messages that the kernel dropped because the receive buffer was full.
    package var dropped = 0
    /// The number of messages that were too long, or shorter than announced.
    package var malformed = 0
    /// The number of commands that were sent, including those that could not be sent.
    package var commands = 0
    /// The number of times that ``ManagementOptions/recordFile`` could not be written.
    package var recordFailures = 0
    /// The receive buffer in bytes as the kernel counts it: twice the requested size (socket(7)).
    package var receiveBufferBytes = 0
}
