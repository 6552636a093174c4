/// A path whose answer is made from a ``Snapshot``.
enum SnapshotPath: String, Sendable {
    case presentPage = "/"
    case gatewaysPage = "/gateways"
    case metrics = "/metrics"
    case presentJSON = "/api/v1/present"
    case gatewaysJSON = "/api/v1/gateways"

    /// Whether the answer has the warnings, and so reports by itself that files cannot be read.
    var hasWarnings: Bool { self != .metrics && self != .presentJSON }
}

/// The answers for some paths, made from one snapshot.
struct SnapshotAnswers: Sendable {
    private var responses: [SnapshotPath: HTTPResponse] = [:]
    // Counters of the server change without a line, and are added to each answer.
    private var metrics: Metrics?

    /// Makes the answers for `paths`.
    init(_ paths: Set<SnapshotPath>, _ snapshot: Snapshot) {
        let json = "application/json"
        for path in paths {
            switch path {
            case .presentPage:
                responses[path] = HTTPResponse(contentType: PageFrame.contentType, body: LivePage(snapshot).present)
            case .gatewaysPage:
                responses[path] = HTTPResponse(contentType: PageFrame.contentType, body: LivePage(snapshot).gateways)
            case .presentJSON: responses[path] = HTTPResponse(contentType: json, body: snapshot.presentJSON)
            case .gatewaysJSON: responses[path] = HTTPResponse(contentType: json, body: snapshot.gatewaysJSON)
            case .metrics: metrics = Metrics(snapshot)
            }
        }
    }

    /// Adds the answers of another snapshot of the same state.
    mutating func add(_ other: SnapshotAnswers) {
        responses.merge(other.responses) { old, _ in old }
        metrics = metrics ?? other.metrics
    }

    /// Returns the answer for a path.
    ///
    /// - Parameters:
    ///   - path: the path.
    ///   - addServer: adds the metrics of the server to those of the snapshot.
    /// - Returns: the answer; `nil` if it was not made.
    func response(_ path: SnapshotPath, _ addServer: (inout Metrics) -> Void) -> HTTPResponse? {
        guard path == .metrics, var metrics else { return responses[path] }
        addServer(&metrics)
        return HTTPResponse(contentType: "text/plain; version=0.0.4; charset=utf-8", body: metrics.bytes)
    }
}
