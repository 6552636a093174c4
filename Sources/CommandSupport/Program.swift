import Glibc

/// `beacon-gateway` as a whole: its version, and what it does to its own process.
package enum Program {
    /// The version that `--version` says, and Home Assistant is told.
    package static let version = "0.3.0"

    /// Has every file and folder that this process makes be its user's and his group's alone, whatever it was started
    /// with (umask(2)): who was here when is nobody else's. Files get 0640, folders 0750.
    package static func protectFiles() { _ = umask(0o027) }
}
