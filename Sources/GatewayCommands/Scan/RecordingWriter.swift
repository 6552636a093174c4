import AdapterScanning
import BaseTypes
import BeaconMonitoring
import BluetoothLE
import Captures
import Replaying

/// Turns what a scanner tells into a capture, so that a replay of it gives what a gateway would have said.
///
/// Records are stamped with the timeline plus one offset, the wall clock's at the start: a clock that is set meanwhile leaves
/// no gap and no step. When adapters listen stands in it as the format can (rule L4); a stop that was learnt of late carries
/// since when. The capture grows in memory, and its owner takes it away.
struct RecordingWriter: ~Copyable {
    /// What was written.
    struct Counts: Sendable, Hashable {
        var reports = 0
        var sightings = 0
        /// Reports that were left out, since what was to be written waited for whoever reads.
        var dropped = 0
        /// How often that began.
        var overflows = 0
    }

    private struct Adapter {
        let number: Int
        let name: String
        /// The controller's address, where it is known.
        var address: DeviceAddress?
        /// Whether reports of it are being left out.
        var isOverflowing = false
    }

    private var writer: CaptureWriter
    private let offset: ClockOffset
    // Few, and looked up for each report.
    private var adapters: [Adapter] = []
    private(set) var counts = Counts()
    // The time of what was written last.
    private var latest: Instant

    /// - Parameters:
    ///   - format: what is written.
    ///   - offset: the wall clock's at the start.
    ///   - start: when it begins: the replay's beginning.
    /// - Throws: ``CaptureError`` where the format can't hold the time.
    init(format: CaptureWriter.Format, offset: ClockOffset, start: Instant) throws(CaptureError) {
        writer = CaptureWriter(format: format)
        self.offset = offset
        latest = start
        try writer.write(timeOnly: stamp(start))
    }

    /// How many octets are to be taken away.
    var waiting: Int { writer.bufferedCount }

    /// The capture's next octets.
    mutating func drain() -> [UInt8] { writer.drainBuffered() }

    // A sum outside of the timeline's bounds is moved to the nearest: a clock that far off dates nothing anyhow.
    private func stamp(_ time: Instant) -> Instant { time + .nanoseconds(offset.nanoseconds) }

    /// The index of an adapter; where it is new, it is made known as one that does not listen unless it does now.
    private mutating func index(of number: Int, isListening: Bool, at time: Instant) throws(CaptureError) -> Int {
        if let index = adapters.firstIndex(where: { $0.number == number }) { return index }
        adapters.append(Adapter(number: number, name: ScanSupervisor.Options.adapterName(of: number)))
        if !isListening {
            try writer.write(
                listening: false, adapter: ScanSupervisor.Options.adapterName(of: number), time: stamp(time))
        }
        return adapters.count - 1
    }

    /// A report; where there is no room for it, its adapter does not listen from now on to the next one that is written
    /// (rule T5).
    mutating func heard(
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

    /// What became of an adapter.
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
            // Another controller has the name now: it does not listen until that is said (rule L7).
            adapters[index].address = address
            try writer.write(listening: false, adapter: adapters[index].name, time: stamp(time))
        case .listening(let adapter, _):
            let index = try index(of: adapter, isListening: true, at: time)
            // While reports are left out it does not; the first that is written says that it does.
            guard !adapters[index].isOverflowing else { return }
            try writer.write(listening: true, adapter: adapters[index].name, time: stamp(time))
        case .stopped(let adapter, let since, _): try stopped(adapter, since: since, at: time)
        // Later reports of other adapters may have been written before.
        case .lost(let adapter, _, let since): try stopped(adapter, since: since, at: latest)
        case .disappeared, .needs, .obstacles, .ended: break
        }
    }

    private mutating func stopped(_ adapter: Int, since: Instant, at time: Instant) throws(CaptureError) {
        let index = try index(of: adapter, isListening: true, at: time)
        try writer.write(
            listening: false, adapter: adapters[index].name, time: stamp(time),
            since: since < time ? stamp(since) : nil)
    }

    /// Writes that time went on to `time`, or to what was written last where that is later: what became due until then is
    /// part of the recording.
    mutating func end(at time: Instant) throws(CaptureError) {
        let time = max(time, latest)
        if let first = adapters.first {
            try writer.write(timeOnly: first.name, time: stamp(time))
        } else {
            try writer.write(timeOnly: stamp(time))
        }
    }
}
