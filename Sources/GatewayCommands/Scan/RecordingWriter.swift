import AdapterScanning
import BaseTypes
import BeaconMonitoring
import BluetoothLE
import Captures
import Replaying

/// Converts the output of a scanner to a capture, so that a replay gives the result that a gateway would have had.
///
/// The times of records are those of the timeline plus one offset, that of the wall clock at the start. If the clock is
/// set during the recording, there is no gap and no step. The capture records when adapters scan, as the format permits
/// (rule L4). If a stop is detected late, its record has the time of the detection, and also the time since which the
/// adapter did not scan. The capture grows in memory, and its owner must take the bytes regularly.
struct RecordingWriter: ~Copyable {
    /// The counters of a recording.
    struct Counts: Sendable, Hashable {
        var reports = 0
        var sightings = 0
        /// The number of reports that were left out because too much waited for the reader.
        var dropped = 0
        /// How often an adapter started to lose reports in this way.
        var overflows = 0
    }

    private struct Adapter {
        let number: Int
        let name: String
        /// The address of the controller, if it is known.
        var address: DeviceAddress?
        /// Whether reports of the adapter are left out now.
        var isOverflowing = false
    }

    private var writer: CaptureWriter
    private let offset: ClockOffset
    // An array, because there are few adapters and one is searched for each report.
    private var adapters: [Adapter] = []
    private(set) var counts = Counts()
    // The latest time of a report or change, also of one that was not written.
    private var latest: Instant

    /// Creates a capture that starts at `start`.
    ///
    /// - Parameters:
    ///   - format: the format of the capture.
    ///   - offset: how far the wall clock is ahead of the timeline at the start.
    ///   - start: the start of the recording, and of its replay.
    /// - Throws: ``CaptureError`` if the format cannot represent the time.
    init(format: CaptureWriter.Format, offset: ClockOffset, start: Instant) throws(CaptureError) {
        writer = CaptureWriter(format: format)
        self.offset = offset
        latest = start
        try writer.write(timeOnly: stamp(start))
    }

    /// The number of bytes that the owner should take.
    var waiting: Int { writer.bufferedCount }

    /// Returns the next bytes of the capture, and removes them.
    mutating func drain() -> [UInt8] { writer.drainBuffered() }

    // A sum outside the bounds of the timeline is clamped. A clock that is so wrong gives no useful dates anyway.
    private func stamp(_ time: Instant) -> Instant { time + .nanoseconds(offset.nanoseconds) }

    /// Returns the index of an adapter. A new adapter is added, with a record that it does not scan unless it scans
    /// now.
    private mutating func index(of number: Int, isListening: Bool, at time: Instant) throws(CaptureError) -> Int {
        if let index = adapters.firstIndex(where: { $0.number == number }) { return index }
        adapters.append(Adapter(number: number, name: ScanSupervisor.Options.adapterName(of: number)))
        if !isListening {
            try writer.write(
                listening: false, adapter: ScanSupervisor.Options.adapterName(of: number), time: stamp(time))
        }
        return adapters.count - 1
    }

    /// Writes a report. If there is no room for it, the adapter counts as not scanning until its next report that is
    /// written (rule T5).
    mutating func received(
        _ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant, hasRoom: Bool
    ) throws(CaptureError) {
        latest = max(latest, time)
        let index = try index(of: adapter, isListening: true, at: time)
        guard hasRoom else {
            counts.dropped &+= 1
            guard !adapters[index].isOverflowing else { return }
            adapters[index].isOverflowing = true
            counts.overflows &+= 1
            return try writer.write(listening: false, adapter: adapters[index].name, time: stamp(time))
        }
        adapters[index].isOverflowing = false
        counts.reports &+= 1
        var structures = ADStructures()
        while (try? structures.nextBeacon(in: data)) != nil { counts.sightings &+= 1 }
        try writer.write(report, data: data, adapter: adapters[index].name, time: stamp(time))
    }

    /// Writes a change of an adapter.
    mutating func changed(_ change: ScanChange, at time: Instant) throws(CaptureError) {
        latest = max(latest, time)
        switch change {
        case .appeared(let adapter, _, let address):
            let isNew = !adapters.contains { $0.number == adapter }
            try writer.identify(
                adapter: ScanSupervisor.Options.adapterName(of: adapter), address: address, time: stamp(time))
            let index = try index(of: adapter, isListening: false, at: time)
            guard !isNew, adapters[index].address?.value != address?.value else {
                adapters[index].address = address
                break
            }
            // Another controller has the name now. It does not scan until a record shows that it does (rule L7).
            adapters[index].address = address
            try writer.write(listening: false, adapter: adapters[index].name, time: stamp(time))
        case .listening(let adapter, _):
            let index = try index(of: adapter, isListening: true, at: time)
            // While its reports are left out, the adapter counts as not scanning. The first one that is written shows
            // that it scans.
            guard !adapters[index].isOverflowing else { return }
            try writer.write(listening: true, adapter: adapters[index].name, time: stamp(time))
        case .stopped(let adapter, let since, _): try stopped(adapter, since: since, at: time)
        // Later reports of other adapters can have been written already.
        case .lost(let adapter, _, let since): try stopped(adapter, since: since, at: latest)
        case .disappeared, .needs, .capture, .obstacles, .ended: break
        }
    }

    private mutating func stopped(_ adapter: Int, since: Instant, at time: Instant) throws(CaptureError) {
        let index = try index(of: adapter, isListening: true, at: time)
        try writer.write(
            listening: false, adapter: adapters[index].name, time: stamp(time),
            since: since < time ? stamp(since) : nil)
    }

    /// Records that time has reached `time`, or the time of the latest report or change if that is later. Everything
    /// that became due until then is part of the recording.
    mutating func end(at time: Instant) throws(CaptureError) {
        let time = max(time, latest)
        if let first = adapters.first {
            try writer.write(timeOnly: first.name, time: stamp(time))
        } else {
            try writer.write(timeOnly: stamp(time))
        }
    }
}
