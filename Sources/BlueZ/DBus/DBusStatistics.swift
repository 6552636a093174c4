/// What a ``DBusScanner`` counted since it was made.
public struct DBusStatistics: Sendable, Hashable {
    /// Reports handed over.
    public var reports = 0
    /// Messages that came from somebody who is not bluetoothd, or were about nothing that is known.
    public var foreign = 0
    /// Properties that had another type than bluetoothd gives them.
    public var mistyped = 0
    /// Devices that gave way to others because the table was full.
    public var evicted = 0
    /// Messages that could not be sent: no memory, a bus that takes none, or 128 calls that wait for their answers.
    public var unsent = 0
    /// Calls that were not answered in time.
    public var unanswered = 0
    /// How often the connection to the bus was lost.
    public var disconnections = 0

    /// Nothing counted yet.
    public init() {}
}
