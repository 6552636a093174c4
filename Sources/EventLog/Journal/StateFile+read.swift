import JSON
import SystemPackage

extension StateFile {
    /// What stands in a state directory.
    enum Found {
        case absent
        /// A state, and how many octets its file has.
        case whole(StateFile, size: Int)
        /// Something that is none: where.
        case damaged(FilePath)
    }

    /// Reads the file of a state directory, and touches nothing.
    ///
    /// - Throws: ``EventLogError`` where it can't be read, was written by a newer version, or tells of numbers greater than
    ///   any can be.
    static func read(
        from directory: FilePath, _ files: any FileSystemCalls = SystemFiles()
    ) throws(EventLogError) -> Found {
        let path = directory.appending(name)
        let bytes: [UInt8]?
        do throws(Errno) { bytes = try WholeFile.read(path, octetsMax: sizeMax, files: files) } catch {
            throw .readFailed(path.string, error)
        }
        guard let bytes else { return .absent }
        do throws(StateFile.Problem) {
            return .whole(try StateFile(parsing: bytes), size: bytes.count)
        } catch .newer(let version) {
            throw .newerVersion(path.string, version)
        } catch .numberTooGreat {
            throw .numberTooGreat(path.string, offset: nil)
        } catch {
            return .damaged(path)
        }
    }

    /// The same for whoever can do nothing with a damaged one.
    ///
    /// - Returns: `nil` where there is none.
    static func whole(in directory: FilePath) throws(EventLogError) -> StateFile? {
        switch try read(from: directory) {
        case .absent: nil
        case .whole(let state, _): state
        case .damaged(let path): throw .readFailed(path.string, .ioError)
        }
    }
}
