package import BaseTypes
package import BluetoothLE

extension CaptureReader {
    /// Adds the following records to a batch, as long as they are HCI events of a Linux monitor's btsnoop that are
    /// already in the window, belong to adapters in `known`, are not earlier than `latest`, and are accepted by the
    /// batch: it has room, and the event does not need ``ReportDecoder``.
    ///
    /// A fast path before ``next()``, which returns all other records. Most of a long capture consists of such events,
    /// and a general record costs more to pass on than an event costs to decode.
    ///
    /// - Parameters:
    ///   - batch: receives the reports of the events.
    ///   - most: the maximum number of events.
    ///   - known: for each adapter, whether its records are wanted.
    ///   - latest: the latest time so far; updated.
    /// - Returns: the number of events that were read.
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

    // A static function of the parts, so that they can change while the window is borrowed.
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
            // The window contains everything between head and tail, so these loads are inside it.
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
