#if ServiceLifecycle
    public import ServiceLifecycle

    // The protocol of swift-service-lifecycle, if the package's trait `ServiceLifecycle` is enabled.
    extension BeaconMonitor: Service {}

    extension BeaconMonitor {
        /// Runs the monitor. It also ends if the service group shuts down gracefully, as with ``end()``.
        func runAsService() async throws {
            do {
                try await cancelWhenGracefulShutdown { try await self.runUntilCancelled() }
            } catch is CancellationError where Task.isShuttingDownGracefully && !Task.isCancelled {
                end()
            }
        }
    }
#endif
