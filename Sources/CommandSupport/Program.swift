package import BeaconMonitoring
import Glibc

/// Functions that concern the whole program `beacon-gateway` and its process.
package enum Program {
    /// The version that `--version` and Home Assistant show.
    package static let version = "0.3.0"

    /// Restricts new files of this process to its user and group, whatever umask(2) it was started with: files get at
    /// most mode 0640, folders 0750.
    ///
    /// The files contain who was present and when, which no other user may read.
    package static func protectFiles() { _ = umask(0o027) }

    /// Returns the host name of the machine. It is the name of the gateway if the configuration does not set one.
    ///
    /// - Throws: ``ExitFailure`` if it is not a valid name.
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

    /// Returns the value of an environment variable of the process; `nil` if it is not set.
    package static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }
}
