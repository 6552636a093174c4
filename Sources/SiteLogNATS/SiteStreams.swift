import BluetoothLE
import SiteLog

/// The streams of a site, and what they are sent to.
struct SiteStreams {
    enum Stream: String, CaseIterable { case batches, lease, values, snapshots }

    let site: LogName

    func name(_ stream: Stream) -> String { "\(site)-\(stream.rawValue)" }

    func batch(_ gateway: LogName) -> String { "\(site).batch.\(gateway)" }
    var lease: String { "\(site).lease" }
    var whole: String { "\(site).snapshot.whole" }
    func value(_ key: LogName) -> String { "\(site).value.\(key)" }
    func piece(_ generation: String, _ index: Int) -> String { "\(site).snapshot.piece.\(generation).\(index)" }

    /// How a stream is to be, in the words of `$JS.API.STREAM.CREATE`.
    func configuration(_ stream: Stream, _ bounds: StreamBounds, limits: LogLimits) -> String {
        func kept(_ octets: Int?, _ age: Duration?) -> String {
            "\"max_bytes\":\(octets ?? -1),\"max_age\":\(age?.nanoseconds ?? 0)"
        }
        let (subject, more): (String, String) =
            switch stream {
            case .batches:
                (
                    "\(site).batch.*",
                    kept(bounds.batchOctetsMax, bounds.batchAgeMax)
                        + ",\"discard\":\"new\",\"duplicate_window\":\(limits.repeatWindow.nanoseconds)"
                )
            case .lease:
                (
                    lease,
                    kept(nil, limits.leaseTime) + ",\"max_msgs_per_subject\":1,\"duplicate_window\":"
                        + "\(min(limits.leaseTime, limits.repeatWindow).nanoseconds)"
                )
            case .values: ("\(site).value.*", kept(nil, nil) + ",\"max_msgs_per_subject\":1")
            case .snapshots: ("\(site).snapshot.>", kept(bounds.snapshotOctetsMax, nil) + ",\"max_msgs_per_subject\":1")
            }
        return """
            {"name":"\(name(stream))","subjects":["\(subject)"],"retention":"limits","storage":"file",\
            "num_replicas":\(bounds.replicas),"max_consumers":-1,"max_msgs":-1,\(more)}
            """
    }
}
