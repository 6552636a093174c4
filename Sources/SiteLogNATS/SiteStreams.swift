import BluetoothLE
import SiteLog

/// The streams of a site, and what they are sent to.
struct SiteStreams {
    enum Stream: String, CaseIterable { case batches, events, lease, values, snapshots }

    let site: LogName

    func name(_ stream: Stream) -> String { "\(site)-\(stream.rawValue)" }

    func batch(_ gateway: LogName) -> String { "\(site).batch.\(gateway)" }
    var event: String { "\(site).event" }
    var lease: String { "\(site).lease" }
    var whole: String { "\(site).snapshot.whole" }
    func value(_ key: LogName) -> String { "\(site).value.\(key)" }
    func piece(_ generation: String, _ index: Int) -> String { "\(site).snapshot.piece.\(generation).\(index)" }

    /// How a stream is to be, in the words of `$JS.API.STREAM.CREATE`.
    func configuration(_ stream: Stream, replicas: Int, limits: LogLimits) -> String {
        let (subject, more): (String, String) =
            switch stream {
            case .batches:
                ("\(site).batch.*", "\"discard\":\"new\",\"duplicate_window\":\(limits.repeatWindow.nanoseconds)")
            case .events: (event, "\"discard\":\"new\"")
            case .lease:
                (
                    lease,
                    "\"max_msgs_per_subject\":1,\"max_age\":\(limits.leaseTime.nanoseconds),\"duplicate_window\":"
                        + "\(min(limits.leaseTime, limits.repeatWindow).nanoseconds)"
                )
            case .values: ("\(site).value.*", "\"max_msgs_per_subject\":1")
            case .snapshots: ("\(site).snapshot.>", "\"max_msgs_per_subject\":1")
            }
        return """
            {"name":"\(name(stream))","subjects":["\(subject)"],"retention":"limits","storage":"file",\
            "num_replicas":\(replicas),"max_consumers":-1,"max_msgs":-1,"max_bytes":-1,\(more)}
            """
    }
}
