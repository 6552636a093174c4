import BaseTypes
import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
import GatewayConfiguration
import JSON
import SystemPackage

/// Writes the lines of a replay to standard output, as JSON or as short lines for people, or to a folder. The file in
/// the folder is created with the first line.
struct ReplayLines: ~Copyable {
    private var encoder: LineEncoder
    private var output = LineOutput.standardOutput
    /// The folder for the lines; `nil` if they go to standard output.
    private let directory: SegmentDirectory?
    private var isOpen: Bool
    private var gate: FirstBeaconGate
    private let gateway: Identifier
    /// The evidence for exits; `nil` if it is not written.
    private var evidence: EvidenceRecorder?
    /// The short lines for people; `nil` if the lines are JSON.
    private var text: EventText?

    /// Creates the output of a replay.
    ///
    /// - Throws: ``ExitFailure`` if the folder for the lines cannot be used.
    init(gateway: Identifier, _ options: ReplayOptions) throws(ExitFailure) {
        self.gateway = gateway
        encoder = LineEncoder(LineEncoder.Options(gateway: gateway))
        directory = try Self.directory(options)
        isOpen = directory == nil
        gate = FirstBeaconGate(options)
        if options.writesEvidence { evidence = EvidenceRecorder() }
        if options.writesText { text = EventText(options.configuration?.beacons ?? BeaconNames()) }
    }

    private static func directory(_ options: ReplayOptions) throws(ExitFailure) -> SegmentDirectory? {
        guard let path = options.outputDirectory else { return nil }
        do {
            return try SegmentDirectory(empty: FilePath(path))
        } catch {
            throw ExitFailure(error)
        }
    }

    /// Stores a sighting that can become evidence for an exit.
    mutating func noteEvidence(_ beacon: BeaconIdentity, by adapter: AdapterID, _ rssi: RSSI?, at time: Instant) {
        evidence?.sighted(beacon, by: adapter, rssi: rssi, at: time)
    }

    /// Writes the lines of the actions of an engine: immediately if `isUrgent`, otherwise when there are enough of
    /// them. The gate for the first beacon needs the present `statistics`.
    mutating func write(
        _ actions: ActionBuffer, of engine: MonitorEngine, counted statistics: ReplayStatistics, isUrgent: Bool
    ) throws(ExitFailure) {
        if !actions.isEmpty { try open(at: engine.now) }
        if text != nil {
            for action in actions.actions {
                if let lines = text?.lines(of: action) { output.buffer.append(text: lines) }
            }
        } else if var recorder = evidence.take() {
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

    /// Writes the beacons in view of a second that has ended.
    mutating func write(_ reported: [(Ranging, RangingLines.Name)], at now: Instant) throws(ExitFailure) {
        // The beacons in view of each second are not events.
        guard text == nil else { return }
        try open(at: now)
        for (ranging, name) in reported {
            encoder.encode(ranging, monitor: name.monitor, identifier: name.identifier, into: &output.buffer)
        }
        do throws(EventLogError) { try output.flushIfFull() } catch { throw ExitFailure(error) }
    }

    /// Writes the file `alive` into the folder of the lines: up to its time, the lines are complete.
    ///
    /// - Parameter lastRecord: the time of the last record.
    /// - Throws: ``ExitFailure`` if the file cannot be written.
    func reportLife(at lastRecord: Instant) throws(ExitFailure) {
        // Without lines there is no event file to which this time could refer.
        guard isOpen, let directory else { return }
        let file = AliveFile(in: directory.path, gateway: gateway, boot: nil)
        do throws(Errno) {
            try file.write(at: lastRecord, clockOffset: .zero, after: encoder.sequence)
        } catch {
            throw ExitFailure(EventLogError.createFailed(file.path.string, error))
        }
    }

    /// Creates the file of the lines, if they go to a folder and it is not open yet.
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
