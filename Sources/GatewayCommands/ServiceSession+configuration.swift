package import BeaconMonitoring
package import GatewayConfiguration

extension ServiceSession {
    /// Creates the session of a gateway, with the demand of its configuration on the scanners.
    package convenience init(_ configuration: Configuration, in service: ServiceRegistry) {
        let demand = configuration.scanner.demand
        self.init(
            demand.scanning, fullAccuracyPurpose: demand.needsFullAccuracy ? "the configuration's conditions" : nil,
            adapters: demand.adapters, in: service)
    }
}
