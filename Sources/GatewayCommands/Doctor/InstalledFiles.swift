import EventLoops
import SystemPackage

/// The files that were installed with the program, below the same PREFIX.
enum InstalledFiles {
    // The path of the program is read only from the kernel: proc_pid_exe(5).
    private static let ownPath = "/proc/self/exe"

    /// The sample configuration of this program; `nil` if it is not on this machine.
    static var sample: String? {
        guard let program = SmallFile.target(of: FilePath(ownPath)), let sample = sample(of: FilePath(program)),
            SmallFile.exists(FilePath(sample))
        else { return nil }
        return sample
    }

    /// Returns the path of a program's sample configuration, whether the file exists or not; `nil` for programs other
    /// than these:
    ///
    /// - `PREFIX/bin/NAME`: below `PREFIX/share/doc`.
    /// - A program in a folder `.build` of the sources: in the folder `Config` next to `.build`.
    static func sample(of program: FilePath) -> String? {
        var folder = program.removingLastComponent()
        if folder.lastComponent?.string == "bin" {
            let prefix = folder.removingLastComponent()
            return prefix.appending("share/doc/beacon-gateway/gateway.yaml").string
        }
        while let name = folder.lastComponent?.string, folder.removeLastComponent() {
            if name == ".build" { return folder.appending("Config/gateway.yaml").string }
        }
        return nil
    }
}
