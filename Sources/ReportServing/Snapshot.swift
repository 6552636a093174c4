import BeaconMonitoring
import CommandSupport
import EventLog
import JSON
import OperatorLogging
import Reports

/// The state at one moment. All answers about this moment are made from this one value.
struct Snapshot {
    /// The beacons and conditions that are present or were when last known, and the gateways that report them.
    let report: PresentReport
    /// The visits that ended recently: at least those of the last 25 hours (the longest day), unless there were more
    /// than ``RecentVisits/most``. Older ones can be among them.
    let recent: RecentVisits
    let counts: LineCounts
    /// The texts of the state, which `visits --now` uses too.
    let words: PresentWriter
    /// The format and zone of dates.
    let time: ZonedTime
    /// The reason why the files cannot be read; `nil` if they can.
    let failure: String?
    let missed: Int
    let damaged: Int

    /// The values from which a snapshot is made. To make it takes time if many beacons are present; to copy these
    /// values does not.
    struct Source: Sendable {
        let state: Following.State
        let proof: LogReader.Proof?
        let failure: String?
        let (missed, damaged): (Int, Int)
        let options: VisitsOptions
        /// The time of the snapshot.
        let now: WallDate

        /// Copies the state of `following` at `now`.
        init(_ following: Following, _ directory: BeaconDirectory, _ time: ZonedTime, now: WallDate) {
            (state, proof, failure) = (following.state, following.proof, following.failure?.description)
            (missed, damaged) = (following.missed, following.damaged)
            var options = VisitsOptions(paths: [following.directory])
            options.directory = directory
            options.time = time
            options.format = .json
            self.options = options
            self.now = now
        }
    }

    /// Makes the snapshot of `source`.
    init(_ source: Source) {
        report = source.state.present.report(source.proof, now: source.now, source.options.directory)
        recent = source.state.present.recent
        counts = source.state.counts
        words = PresentWriter(report, source.options)
        time = source.options.time
        failure = source.failure
        (missed, damaged) = (source.missed, source.damaged)
    }

    /// Whether a gateway is known to run now.
    var isAlive: Bool { report.gateways.contains { $0.isAlive } }
    /// Whether a gateway is known to run now and one of its adapters scans.
    var isListening: Bool { report.gateways.contains { $0.isAlive && $0.deafSince == nil } }

    /// The warnings for users, the most important first.
    var warnings: [String] {
        var warnings: [String] = []
        if let failure { warnings.append(failure) }
        if report.gateways.isEmpty { warnings.append("No gateway has written a line yet.") }
        for gateway in report.gateways {
            let remarks = words.remarks(gateway)
            warnings += gateway.isAlive ? Array(remarks.dropFirst()) : remarks
        }
        if missed > 0 { warnings.append("\(PlainText.count(missed, "line is", "lines are")) missing in the files.") }
        if damaged > 0 {
            warnings.append("\(PlainText.count(damaged, "line is", "lines are")) damaged and skipped.")
        }
        return warnings
    }

    /// The answer to `/api/v1/present`: the lines of `visits --now --json`, as an array.
    var presentJSON: [UInt8] {
        var lines = LineBuffer(forTerminals: 4096)
        words.write(into: &lines)
        var array = LinesAsArray()
        var bytes = array.take(lines.bytes[...])
        bytes += array.end
        return bytes
    }

    /// The answer to `/api/v1/gateways`.
    var gatewaysJSON: [UInt8] {
        var buffer = LineBuffer(forTerminals: 4096)
        buffer.object { json in
            json.write("gateway", counts.gateway.isEmpty ? nil : counts.gateway)
            json.write("alive", isAlive)
            json.write("listening", isListening)
            json.write("program", counts.program)
            json.write("started", counts.started?.lineText)
            json.write("sequence", counts.sequence)
            json.write("missedLines", missed)
            json.write("damagedLines", damaged)
            json.write("warnings", warnings)
            json.array("gateways", report.gateways) { json, gateway in
                json.object { json in
                    json.write("gateway", gateway.name)
                    json.write("asOf", gateway.asOf.lineText)
                    json.write("alive", gateway.isAlive)
                    json.write("stopped", gateway.isStopped)
                    json.write("deafSince", gateway.deafSince?.lineText)
                    json.array("adapters", gateway.adapters) { json, adapter in
                        json.object { json in
                            json.write("adapter", adapter.name)
                            json.write("state", "\(adapter.state)")
                            json.write("since", adapter.since.lineText)
                            json.write("reason", adapter.reason)
                        }
                    }
                }
            }
        }
        buffer.append(byte: 0x0A)
        return buffer.bytes
    }
}

/// Converts JSON lines to one JSON array, as they arrive.
struct LinesAsArray {
    private var isBegun = false
    private var isAtLineStart = true

    /// Returns the bytes of the array for the next bytes, which can end anywhere in a line.
    mutating func take(_ lines: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        // Each line already has a line feed, so each needs only a comma more.
        bytes.reserveCapacity(lines.count + lines.count / 64 + 16)
        var rest = lines
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0A) ?? rest.endIndex
            if isAtLineStart, end > rest.startIndex {
                bytes.append(isBegun ? UInt8(ascii: ",") : UInt8(ascii: "["))
                bytes.append(0x0A)
                (isBegun, isAtLineStart) = (true, false)
            }
            bytes.append(contentsOf: rest[..<end])
            guard end < rest.endIndex else { break }
            isAtLineStart = true
            rest = rest[(end + 1)...]
        }
        return bytes
    }

    /// The end of the array; an empty array if there was no line.
    var end: [UInt8] { Array(isBegun ? "\n]\n".utf8 : "[]\n".utf8) }
}
