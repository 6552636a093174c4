#if ServiceLifecycle
    public import ServiceLifecycle

    // Of swift-service-lifecycle, where the package's trait `ServiceLifecycle` asks for it.
    extension BeaconMonitor: Service {}

    extension BeaconMonitor {
        /// Runs until the service group shuts down gracefully, too: the monitor has ended then, as with ``end()``.
        func runAsService() async throws {
            do {
                try await cancelWhenGracefulShutdown { try await self.runUntilCancelled() }
            } catch is CancellationError where Task.isShuttingDownGracefully && !Task.isCancelled {
                end()
            }
        }
    }
#endif
