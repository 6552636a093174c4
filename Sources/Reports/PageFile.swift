import EventLog
import SystemPackage

/// Writes a page to a file, or to standard output.
enum PageFile {
    /// Calls `body` to write the page. An existing file is replaced in one step, and never by an incomplete page.
    static func write(
        _ path: FilePath, _ body: (inout LineOutput) throws(EventLogError) -> Void
    ) throws(EventLogError) {
        if path == "-" {
            var output = LineOutput.standardOutput
            try body(&output)
            return try output.flush()
        }
        let files = SystemFiles()
        var temporary = path
        temporary.removeLastComponent()
        temporary.append(".\(path.lastComponent?.string ?? "visits").new")
        do throws(Errno) { try files.remove(temporary) } catch .noSuchFileOrDirectory {} catch {
            throw EventLogError.createFailed(path.string, error)
        }
        // Other users should be able to read a page, so only the umask limits this, as for the output of other
        // programs.
        var output = try LineOutput(creating: temporary, permissions: [.ownerReadWrite, .groupRead, .otherRead])
        try body(&output)
        try output.flush()
        do throws(Errno) { try files.rename(temporary, to: path) } catch {
            throw EventLogError.createFailed(path.string, error)
        }
    }
}
