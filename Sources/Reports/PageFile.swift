import EventLog
import SystemPackage

/// Writes a page to a file, or to standard output.
enum PageFile {
    /// Has `body` write the page; what was there under the name is replaced at once, and by nothing half done.
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
        // A page is made to be shown: as for other programs' output, the umask decides who may read it.
        var output = try LineOutput(creating: temporary, permissions: [.ownerReadWrite, .groupRead, .otherRead])
        try body(&output)
        try output.flush()
        do throws(Errno) { try files.rename(temporary, to: path) } catch {
            throw EventLogError.createFailed(path.string, error)
        }
    }
}
