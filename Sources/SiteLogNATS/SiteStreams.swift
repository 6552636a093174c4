import BaseTypes
import JSON
import SiteMonitoring

/// The streams of a site, and their subjects.
struct SiteStreams {
    enum Stream: String, CaseIterable { case batches, lease, values, snapshots }

    let site: LogName

    func name(_ stream: Stream) -> String { "\(site)-\(stream.rawValue)" }

    func batch(_ gateway: LogName) -> String { "\(site).batch.\(gateway)" }
    var lease: String { "\(site).lease" }
    var whole: String { "\(site).snapshot.whole" }
    func value(_ key: LogName) -> String { "\(site).value.\(key)" }
    func piece(_ generation: String, _ index: Int) -> String { "\(site).snapshot.piece.\(generation).\(index)" }

    /// Returns a JSON object; `body` writes its members.
    static func request(_ body: (inout LineBuffer) -> Void) -> [UInt8] {
        var buffer = LineBuffer(capacity: 1024)
        buffer.object(body)
        return buffer.bytes
    }

    /// Returns the configuration of a stream, as `$JS.API.STREAM.CREATE` expects it.
    func configuration(_ stream: Stream, _ bounds: StreamBounds, limits: LogLimits) -> [UInt8] {
        let (subject, bytes, age): (String, Int?, Duration?) =
            switch stream {
            case .batches: ("\(site).batch.*", bounds.batchBytesMax, bounds.batchAgeMax)
            case .lease: (lease, nil, limits.leaseTime)
            case .values: ("\(site).value.*", nil, nil)
            case .snapshots: ("\(site).snapshot.>", bounds.snapshotBytesMax, nil)
            }
        let window: Duration? =
            switch stream {
            case .batches: limits.repeatWindow
            case .lease: min(limits.leaseTime, limits.repeatWindow)
            case .values, .snapshots: nil
            }
        return Self.request { json in
            json.write("name", name(stream))
            json.write("subjects", [subject])
            json.write("retention", word: "limits")
            json.write("storage", word: "file")
            json.write("num_replicas", bounds.replicas)
            json.write("max_consumers", -1)
            json.write("max_msgs", -1)
            json.write("max_bytes", bytes ?? -1)
            json.write("max_age", age?.nanoseconds ?? 0)
            if stream == .batches { json.write("discard", word: "new") } else { json.write("max_msgs_per_subject", 1) }
            if let window { json.write("duplicate_window", window.nanoseconds) }
        }
    }
}
