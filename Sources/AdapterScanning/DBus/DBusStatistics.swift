/// What a ``DBusScanner`` counted since it was made.
package struct DBusStatistics: Sendable, Hashable {
    /// Reports handed over.
    package var reports = 0
    /// Messages that came from somebody who is not bluetoothd, or were about nothing that is known.
    package var foreign = 0
    /// Properties that had another type than bluetoothd gives them.
    package var mistyped = 0
    /// Devices that gave way to others because the table was full.
    package var evicted = 0
    /// Messages that could not be sent: no memory, a bus that takes none, or 128 calls that wait for their answers.
    package var unsent = 0
    /// Calls that were not answered in time.
    package var unanswered = 0
    /// How often the connection to the bus was lost.
    package var disconnections = 0
}
