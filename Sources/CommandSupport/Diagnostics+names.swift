package import BeaconMonitoring

extension Diagnostics {
    /// The flags' names, in their order.
    package var listed: [String] {
        Self.names.indices.filter { rawValue & 1 << UInt32($0) != 0 }.map { Self.names[$0] }
    }
}
