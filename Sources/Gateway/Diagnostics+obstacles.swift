import BeaconMonitoring
import BeaconScanning

extension Diagnostics {
    /// The flags that what stands in the scanners' way raises.
    init(_ obstacles: Set<ScanObstacle>) {
        self = []
        for obstacle in obstacles {
            switch obstacle {
            case .denied: insert(.authorizationDenied)
            case .blocked: insert(.authorizationDeniedGlobally)
            case .blockedByHardware: formUnion([.authorizationDeniedGlobally, .authorizationRestricted])
            case .waiting: insert(.authorizationRequestInProgress)
            case .unavailable: insert(.serviceUnavailable)
            case .thinned: insert(.accuracyLimited)
            }
        }
    }

    /// The flags' names, in their order.
    var listed: [String] {
        Self.names.indices.filter { rawValue & 1 << UInt32($0) != 0 }.map { Self.names[$0] }
    }
}
