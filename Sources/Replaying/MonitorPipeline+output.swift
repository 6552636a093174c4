import BeaconMonitoring
import CommandSupport
import EventLog
import GatewayConfiguration
import SystemPackage

// What a replay writes to, and under which names.
extension MonitorPipeline {
    /// What the lines call the gateway and its monitor.
    static func names(
        _ options: ReplayOptions
    ) throws(ExitFailure) -> (gateway: Identifier, monitor: Identifier) {
        do {
            return (try options.configuration?.gatewayName ?? Identifier("replay"), try Identifier("site"))
        } catch {
            throw ExitFailure(.failed, "\(error)")
        }
    }

    /// The folder for the lines; absent where they go to standard output.
    static func directory(_ options: ReplayOptions) throws(ExitFailure) -> SegmentDirectory? {
        guard let path = options.outputDirectory else { return nil }
        do {
            return try SegmentDirectory(empty: FilePath(path))
        } catch {
            throw ExitFailure(error)
        }
    }
}
