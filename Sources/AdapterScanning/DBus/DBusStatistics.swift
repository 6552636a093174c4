/// The counters of a ``DBusScanner`` since it was created.
package struct DBusStatistics: Sendable, Hashable {
    /// The number of delivered reports.
    package var reports = 0
    /// The number of messages from other processes than bluetoothd, or about unknown objects.
    package var foreign = 0
    /// The number of properties with another type than bluetoothd uses.
    package var mistyped = 0
    /// The number of devices that were evicted because the table was full.
    package var evicted = 0
    /// The number of messages that could not be sent: there was no memory, the bus accepted none, or 128 calls were
    /// waiting for their answers.
    package var unsent = 0
    /// The number of calls that were not answered in time.
    package var unanswered = 0
    /// The number of times the connection to the bus was lost.
    package var disconnections = 0
}
