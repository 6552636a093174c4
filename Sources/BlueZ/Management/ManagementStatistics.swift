/// What a ``ManagementScanner`` counted since it was made.
public struct ManagementStatistics: Sendable, Hashable {
    /// Messages received, of all kinds.
    public var messages = 0
    /// Advertising reports handed over.
    public var reports = 0
    /// Messages that the kernel dropped because the receive buffer was full.
    public var dropped = 0
    /// Messages that were too long, or shorter than they said.
    public var malformed = 0
    /// Commands sent.
    public var commands = 0
    /// Times that ``ManagementOptions/recordFile`` could not be written.
    public var recordFailures = 0
    /// The receive buffer as the kernel counts it, in octets: what was asked for, doubled (socket(7)).
    public var receiveBufferBytes = 0

    /// Nothing counted yet.
    public init() {}
}
