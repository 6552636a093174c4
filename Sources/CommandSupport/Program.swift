package import BeaconMonitoring
import Glibc

/// `beacon-gateway` as a whole: its version, and what it does to its own process.
package enum Program {
    /// The version that `--version` says, and Home Assistant is told.
    package static let version = "0.3.0"

    /// Has every file and folder that this process makes be its user's and his group's alone, whatever it was started
    /// with (umask(2)): who was here when is nobody else's. Files get 0640, folders 0750.
    package static func protectFiles() { _ = umask(0o027) }

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
                .configurationInvalid, "the host name can't be the name of the gateway: \(error); set gateway.name")
        }
    }

    /// The value of one of the process's environment variables.
    package static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }
}
