import CommandSupport
import SystemPackage

/// Where the files are that were installed beside the program: below the PREFIX that it was installed below.
enum InstalledFiles {
    // Not read from anywhere but the kernel: proc_pid_exe(5).
    private static let ownPath = "/proc/self/exe"

    /// The sample configuration that belongs to this program.
    static var sample: String { sample(of: SmallFiles.link(ownPath).map { FilePath($0) }) }

    /// The sample configuration of a program at a path: `PREFIX/bin/NAME`'s in `PREFIX/share/doc`. One that lies elsewhere
    /// was not installed, and has the sample of the sources that it was built from. Where the path is not known, the usual
    /// PREFIX.
    static func sample(of program: FilePath?) -> String {
        guard let folder = program?.removingLastComponent() else { return sample(below: "/usr/local") }
        guard folder.lastComponent?.string == "bin" else { return "Config/gateway.yaml" }
        return sample(below: folder.removingLastComponent())
    }

    private static func sample(below prefix: FilePath) -> String {
        prefix.appending("share/doc/beacon-gateway/gateway.yaml").string
    }
}
