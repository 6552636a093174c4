import BaseTypes
import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
import SystemPackage

/// Writes a replay's lines: to standard output, or into a folder, whose file begins with the first of them.
struct ReplayLines: ~Copyable {
    private var encoder: LineEncoder
    private var output = LineOutput.standardOutput
    /// The folder for the lines, where they go to one.
    private let directory: SegmentDirectory?
    private var isOpen: Bool
    private var gate: FirstBeaconGate
    private let gateway: Identifier
    /// What exits rest on, where that is to be written too.
    private var evidence: EvidenceRecorder?

    /// - Throws: ``ExitFailure`` where the folder for the lines can't be used.
    init(gateway: Identifier, _ options: ReplayOptions) throws(ExitFailure) {
        self.gateway = gateway
        encoder = LineEncoder(LineEncoder.Options(gateway: gateway))
        directory = try Self.directory(options)
        isOpen = directory == nil
        gate = FirstBeaconGate(options)
        if options.writesEvidence { evidence = EvidenceRecorder() }
    }

    private static func directory(_ options: ReplayOptions) throws(ExitFailure) -> SegmentDirectory? {
        guard let path = options.outputDirectory else { return nil }
        do {
            return try SegmentDirectory(empty: FilePath(path))
        } catch {
            throw ExitFailure(error)
        }
    }

    /// Keeps a sighting that an exit may rest on.
    mutating func noteEvidence(_ beacon: BeaconIdentity, by adapter: AdapterID, _ rssi: RSSI?, at time: Instant) {
        evidence?.sighted(beacon, by: adapter, rssi: rssi, at: time)
    }

    /// Writes what an engine said, at once where it is urgent, and else when there is enough of it; `statistics` tell what was
    /// counted until then, for what waits for the first beacon.
    mutating func write(
        _ actions: ActionBuffer, of engine: MonitorEngine, counted statistics: ReplayStatistics, isUrgent: Bool
    ) throws(ExitFailure) {
        if !actions.isEmpty { try open(at: engine.now) }
        if var recorder = evidence.take() {
            encoder.encode(actions, evidence: &recorder, into: &output.buffer)
            evidence = recorder
        } else {
            for action in actions.actions { encoder.encode(action, into: &output.buffer) }
        }
        guard gate.isOpen(statistics, output) else { return }
        do throws(EventLogError) {
            if isUrgent { try output.flush() } else { try output.flushIfFull() }
        } catch {
            throw ExitFailure(error)
        }
    }

    /// Writes who was in view in a second that ended.
    mutating func write(_ told: [(Ranging, RangingLines.Name)], at now: Instant) throws(ExitFailure) {
        try open(at: now)
        for (ranging, name) in told {
            encoder.encode(ranging, monitor: name.monitor, identifier: name.identifier, into: &output.buffer)
        }
        do throws(EventLogError) { try output.flushIfFull() } catch { throw ExitFailure(error) }
    }

    /// Writes beside the lines in a folder until when they are all that there was to hear.
    ///
    /// - Parameter lastRecord: when the last record was heard.
    /// - Throws: ``ExitFailure`` where the file can't be written.
    func tellOfLife(at lastRecord: Instant) throws(ExitFailure) {
        // Where there is no line, nothing would be known of that time.
        guard isOpen, let directory else { return }
        let file = AliveFile(in: directory.path, gateway: gateway, boot: nil)
        do throws(Errno) {
            try file.write(at: lastRecord, clockOffset: .zero, after: encoder.sequence)
        } catch {
            throw ExitFailure(EventLogError.createFailed(file.path.string, error))
        }
    }

    /// Opens the file of the lines, where they go to one and it is not open.
    private mutating func open(at now: Instant) throws(ExitFailure) {
        guard !isOpen, let directory else { return }
        do throws(EventLogError) {
            output = try directory.open(first: 1, date: WallDate(now, offset: .zero))
        } catch {
            throw ExitFailure(error)
        }
        isOpen = true
    }
}
