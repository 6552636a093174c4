package import BluetoothLE

/// An HCI event that stands whole in the window: what its path needs of a record, small enough for registers.
package struct BufferedEvent {
    package let time: Instant
    /// The place of its adapter's name; −1 where there is no event.
    package let adapter: Int
    /// Where the event stands in the window.
    package let start: Int
    package let end: Int

    static let none = BufferedEvent(time: .earliest, adapter: -1, start: 0, end: 0)
}

extension CaptureReader {
    /// Takes the next record where it is an HCI event of a Linux monitor's btsnoop that was read already.
    ///
    /// A shortcut past ``next()``, which gives everything else: most of a long capture is such events, and a record that
    /// can hold anything costs more to pass on than an event to decode.
    @inline(never)
    package mutating func takeEvent() -> BufferedEvent {
        guard layout == .btsnoopMonitor, !hasPending, !hasEnded, tail - head >= Btsnoop.headerSize else { return .none }
        let flags = UInt32(bigEndian: load(head + 8, as: UInt32.self))
        guard UInt16(truncatingIfNeeded: flags) == Btsnoop.Opcode.event else { return .none }
        let included = Int(UInt32(bigEndian: load(head + 4, as: UInt32.self)))
        guard tail - head - Btsnoop.headerSize >= included else { return .none }
        let (stamp, overflow) = Int64(bigEndian: load(head + 16, as: Int64.self))
            .subtractingReportingOverflow(Btsnoop.epoch)
        guard !overflow, stamp >= 0, stamp <= Self.microsecondsMax else { return .none }
        guard let adapter = adapterTable.place(ofIndex: UInt16(truncatingIfNeeded: flags >> 16)) else { return .none }
        let start = head + Btsnoop.headerSize
        head = start + included
        recordCount &+= 1
        return BufferedEvent(
            time: Instant(nanoseconds: stamp &* 1000), adapter: adapter, start: start, end: start + included)
    }

    private static var microsecondsMax: Int64 { 9_000_000_000_000_000 }
}
