package import EventLog

/// The lines that were sent and are not finished: which of them the broker has, up to which line it has all, and how
/// many would be repeated.
///
/// A line is finished when two conditions are met: it and all lines before it are acknowledged, so that the checkpoint
/// moves, and the checkpoint is stored.
package struct PublishingWindow: Sendable {
    private struct Entry {
        var message: Int32
        var position: LinePosition
        var isAcknowledged = false
    }

    /// The maximum number of lines after the stored checkpoint.
    package let capacity: Int
    /// The maximum number of lines in flight: as many as the broker accepts, and not more than are useful.
    ///
    /// If there were more than the broker accepts (MQTT 5 §3.3.4), they would wait in the library. They could not be
    /// withdrawn if the broker refuses a line before them.
    package var atATime = Int.max
    /// The position up to which the broker has all lines.
    package private(set) var published: LinePosition
    /// The position of the stored checkpoint.
    package private(set) var stored: LinePosition
    /// The number of lines between the two positions.
    package private(set) var unstoredCount = 0

    // A queue with the first line that is not acknowledged, at `head`, and the lines after it.
    private var entries: [Entry] = []
    private var head = 0

    /// Creates an empty window after a checkpoint.
    package init(after stored: LinePosition, capacity: Int) {
        self.capacity = max(capacity, 1)
        self.stored = stored
        published = stored
    }

    /// The number of lines after ``published`` that were sent or set aside.
    package var inFlight: Int { entries.count - head }

    /// The number of lines that may be sent now.
    package var room: Int { max(0, min(capacity - unstoredCount, atATime) - inFlight) }

    /// Notes that a line was sent, with the library's number for the message.
    package mutating func sent(_ message: Int32, _ position: LinePosition) {
        entries.append(Entry(message: message, position: position))
    }

    /// Notes that the broker acknowledged a message.
    ///
    /// - Returns: whether the message was a line in flight.
    package mutating func acknowledged(_ message: Int32) -> Bool {
        // Acknowledgements have the order of the messages (MQTT 5 §4.6), so this is usually the first line in flight.
        var index = head
        while index < entries.count, entries[index].message != message || entries[index].isAcknowledged { index += 1 }
        guard index < entries.count else { return false }
        entries[index].isAcknowledged = true
        advance()
        return true
    }

    /// Skips a line that cannot be sent. It keeps its place in the order, and is finished when all lines before it are.
    package mutating func setAside(_ position: LinePosition) {
        entries.append(Entry(message: 0, position: position, isAcknowledged: true))
        advance()
    }

    private mutating func advance() {
        while head < entries.count, entries[head].isAcknowledged {
            published = entries[head].position
            unstoredCount += 1
            head += 1
        }
        if head >= 512 || head == entries.count {
            entries.removeFirst(head)
            head = 0
        }
    }

    /// Notes that the checkpoint at ``published`` is stored.
    package mutating func keep() {
        stored = published
        unstoredCount = 0
    }

    /// Notes that the connection has ended, or that a refused line is tried again. The lines in flight must be sent
    /// again, starting after ``published``.
    ///
    /// - Returns: the number of lines in flight.
    package mutating func restart() -> Int {
        defer {
            entries.removeAll(keepingCapacity: true)
            head = 0
        }
        return inFlight
    }
}
