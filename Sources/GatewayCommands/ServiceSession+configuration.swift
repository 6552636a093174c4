package import BeaconMonitoring
package import GatewayConfiguration

extension ServiceSession {
    /// The session that a gateway holds: what its configuration asks of the scanners.
    package convenience init(_ configuration: Configuration, in service: ServiceRegistry) {
        let demand = configuration.scanner.demand
        self.init(
            demand.scanning, fullAccuracyPurpose: demand.needsFullAccuracy ? "the configuration's conditions" : nil,
            adapters: demand.adapters, in: service)
    }
}
