package import AdapterScanning
package import BeaconMonitoring

extension Diagnostics {
    /// Creates the diagnostics for the obstacles of the scanners.
    package init(_ obstacles: Set<ScanObstacle>) {
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
}
