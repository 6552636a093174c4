package import BeaconMonitoring
import Glibc

extension Program {
    /// The machine's name, which is the gateway's where the configuration has none for it.
    ///
    /// - Throws: ``ExitFailure`` where it can't be one.
    package static func hostName() throws(ExitFailure) -> Identifier {
        let name = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let base = buffer.baseAddress, unsafe gethostname(base, buffer.count - 1) == 0 else { return "" }
            unsafe buffer[buffer.count - 1] = 0
            return unsafe String(cString: base)
        }
        do throws(MonitorError) {
            return try Identifier(name)
        } catch {
            throw ExitFailure(
                .configurationInvalid, "the host's name can't be the gateway's: \(error); set gateway.name")
        }
    }

    /// The value of one of the process's environment variables.
    package static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }
}
