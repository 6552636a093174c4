package import BaseTypes
package import BluetoothLE

extension CaptureReader {
    /// Reads the records that follow, as many as are HCI events of a Linux monitor's btsnoop that were read already, of
    /// adapters in `known` and not earlier than `latest`, and that the batch takes.
    ///
    /// A shortcut past ``next()``, which gives everything else: most of a long capture is such events, and a record that
    /// can hold anything costs more to pass on than an event to decode.
    ///
    /// - Parameters:
    ///   - batch: where the events' reports are added.
    ///   - most: how many it takes at most.
    ///   - known: whether each adapter's records are wanted, by its place.
    ///   - latest: the latest time so far, and then.
    /// - Returns: how many were read.
    @inline(never)
    package mutating func readEvents(
        into batch: inout FrameBatch, most: Int, known: [Bool], latest: inout Instant
    ) -> Int {
        guard layout == .btsnoopMonitor, !hasPending, !hasEnded else { return 0 }
        let count = Self.readEvents(
            of: window, from: &head, to: tail, &adapterTable, into: &batch, most: most, known: known, latest: &latest)
        recordCount &+= count
        return count
    }

    // A function of its parts, so that they can change while the window is borrowed.
    private static func readEvents(
        of window: borrowing [UInt8], from head: inout Int, to tail: Int, _ adapters: inout AdapterTable,
        into batch: inout FrameBatch, most: Int, known: [Bool], latest: inout Instant
    ) -> Int {
        let window = window.span
        let bytes = unsafe window.bytes
        var place = head
        var count = 0
        var last = latest
        var counts = batch.counts
        var entries = batch.entries.mutableSpan
        while count < most, tail &- place >= Btsnoop.headerSize {
            // The window holds what lies between head and tail, so these loads are within it.
            let flags = unsafe UInt32(
                bigEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: place &+ 8, as: UInt32.self))
            guard UInt16(truncatingIfNeeded: flags) == Btsnoop.Opcode.event else { break }
            let included = Int(
                unsafe UInt32(
                    bigEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: place &+ 4, as: UInt32.self)))
            let start = place &+ Btsnoop.headerSize
            guard tail &- start >= included else { break }
            let (stamp, overflow) = unsafe Int64(
                bigEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: place &+ 16, as: Int64.self)
            ).subtractingReportingOverflow(Btsnoop.epoch)
            guard !overflow, stamp >= 0, stamp < timesEnd / 1000 else { break }
            let time = Instant(nanoseconds: stamp &* 1000)
            guard time >= last, let adapter = adapters.place(ofIndex: UInt16(truncatingIfNeeded: flags >> 16)),
                adapter < known.count, known[adapter],
                unsafe FrameBatch.take(
                    event: window.extracting(unchecked: start..<start &+ included), adapter: adapter, time: time,
                    to: &entries, &counts)
            else { break }
            last = time
            place = start &+ included
            count &+= 1
        }
        batch.counts = counts
        head = place
        latest = last
        return count
    }
}
