package import EventLog

/// The lines that were sent and are not done with: which of them the broker has, up to where it has all, and how many
/// would come twice.
///
/// Done is a line when it and all before it are acknowledged (the checkpoint moves), and that is on the disk.
package struct ShippingWindow: Sendable {
    private struct Entry {
        var message: Int32
        var position: LinePosition
        var isAcknowledged = false
    }

    /// How many lines may be past the checkpoint that is kept.
    package let capacity: Int
    /// How many lines may be under way at a time: what the broker takes, and no more than is of use.
    ///
    /// More than the broker takes (MQTT 5 §3.3.4) would wait in the library and could not be called back where the broker
    /// refuses one before them.
    package var atATime = Int.max
    /// Up to where the broker has all lines.
    package private(set) var shipped: LinePosition
    /// Up to where that is on the disk.
    package private(set) var kept: LinePosition
    /// How many lines lie between the two.
    package private(set) var unkept = 0

    // A ring: the first that is not done with, and those after it.
    private var entries: [Entry] = []
    private var head = 0

    /// An empty window, after a checkpoint.
    package init(after kept: LinePosition, capacity: Int) {
        self.capacity = max(capacity, 1)
        self.kept = kept
        shipped = kept
    }

    /// How many lines were sent and are not done with.
    package var inFlight: Int { entries.count - head }

    /// How many more lines may be sent now.
    package var room: Int { max(0, min(capacity - unkept, atATime) - inFlight) }

    /// A line was sent, by the library's number for the message.
    package mutating func sent(_ message: Int32, _ position: LinePosition) {
        entries.append(Entry(message: message, position: position))
    }

    /// The broker acknowledged a message.
    ///
    /// - Returns: whether it was a line's that was under way.
    package mutating func acknowledged(_ message: Int32) -> Bool {
        // They come in the order in which they were sent (MQTT 5 §4.6): the first one that is under way.
        var index = head
        while index < entries.count, entries[index].message != message || entries[index].isAcknowledged { index += 1 }
        guard index < entries.count else { return false }
        entries[index].isAcknowledged = true
        advance()
        return true
    }

    /// A line that can't be sent is passed over in its order: it is done with when all before it are.
    package mutating func setAside(_ position: LinePosition) {
        entries.append(Entry(message: 0, position: position, isAcknowledged: true))
        advance()
    }

    private mutating func advance() {
        while head < entries.count, entries[head].isAcknowledged {
            shipped = entries[head].position
            unkept += 1
            head += 1
        }
        if head >= 512 || head == entries.count {
            entries.removeFirst(head)
            head = 0
        }
    }

    /// The checkpoint at ``shipped`` is on the disk.
    package mutating func keep() {
        kept = shipped
        unkept = 0
    }

    /// The connection ended: what was under way is sent again, from ``shipped`` on.
    ///
    /// - Returns: how many lines that are.
    package mutating func restart() -> Int {
        defer {
            entries.removeAll(keepingCapacity: true)
            head = 0
        }
        return inFlight
    }
}
