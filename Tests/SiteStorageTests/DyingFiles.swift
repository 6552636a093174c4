import EventLog
import SystemPackage

/// The machine's file system, until the process is killed in the middle of a call that changes a file.
final class DyingFiles: FileSystemCalls {
    /// The number of remaining calls that change a file. The last of them kills the process.
    var callsLeft = Int.max
    /// The number of calls that change a file, so far.
    private(set) var changes = 0
    /// The error of calls that change a file, if they must fail.
    var failure: Errno?

    private let files = SystemFiles()
    private var names: [Handle: String] = [:]
    // The size of each file, and the file names, that remain after a power cut.
    private var synchronized: [String: Int] = [:]
    private var namesKept: Set<String> = []

    var isDead: Bool { callsLeft == 0 }

    private func change() throws(Errno) {
        if let failure { throw failure }
        changes += 1
        guard callsLeft > 0 else { throw .ioError }
        callsLeft -= 1
        if callsLeft == 0 { throw .ioError }
    }

    /// Reduces the directory to the data that remain if the power fails with the process.
    func cutPower(in directory: FilePath) throws {
        for name in try files.names(in: directory) {
            let path = directory.appending(name)
            guard namesKept.contains(name) else {
                try files.remove(path)
                continue
            }
            let file = try files.open(path, isNew: false)
            defer { files.close(file) }
            try files.truncate(file, to: min(synchronized[name] ?? 0, files.size(of: file)))
        }
    }

    func open(_ path: FilePath, isNew: Bool) throws(Errno) -> Handle {
        if isNew { try change() }
        let file = try files.open(path, isNew: isNew)
        names[file] = path.lastComponent?.string ?? ""
        return file
    }

    func write(_ file: Handle, at offset: Int, _ bytes: UnsafeRawBufferPointer) throws(Errno) -> Int {
        do throws(Errno) { try change() } catch {
            // Half of the bytes were written.
            if isDead, bytes.count > 1 {
                _ = try? unsafe files.write(
                    file, at: offset, UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)]))
            }
            throw error
        }
        return try unsafe files.write(file, at: offset, bytes)
    }

    func truncate(_ file: Handle, to size: Int) throws(Errno) {
        try change()
        try files.truncate(file, to: size)
    }

    func open(_ path: FilePath, replacing original: Handle) throws(Errno) -> Handle {
        try change()
        return try files.open(path, replacing: original)
    }
    func copyOwnership(of original: Handle, to file: Handle) throws(Errno) {
        try change()
        try files.copyOwnership(of: original, to: file)
    }

    func synchronize(_ file: Handle) throws(Errno) {
        try change()
        synchronized[names[file] ?? ""] = try files.size(of: file)
    }

    func remove(_ path: FilePath) throws(Errno) {
        try change()
        try files.remove(path)
        if let name = path.lastComponent?.string { (synchronized[name], _) = (nil, namesKept.remove(name)) }
    }

    func synchronizeDirectory(_ path: FilePath) throws(Errno) {
        try change()
        namesKept.formUnion(try files.names(in: path))
    }

    func rename(_ path: FilePath, to other: FilePath) throws(Errno) {
        try change()
        try files.rename(path, to: other)
    }

    func link(_ path: FilePath, to target: String) throws(Errno) {
        try change()
        try files.link(path, to: target)
    }

    func openForReading(_ path: FilePath) throws(Errno) -> Handle { try files.openForReading(path) }
    func leads(_ path: FilePath, to file: Handle) throws(Errno) -> Bool { try files.leads(path, to: file) }
    func size(of file: Handle) throws(Errno) -> Int { try files.size(of: file) }
    func read(_ file: Handle, at offset: Int, count: Int, appendingTo buffer: inout [UInt8]) throws(Errno) -> Int {
        try files.read(file, at: offset, count: count, appendingTo: &buffer)
    }
    func close(_ file: Handle) { files.close(file) }
    func target(of link: FilePath) throws(Errno) -> String { try files.target(of: link) }
    func names(in directory: FilePath) throws(Errno) -> [String] { try files.names(in: directory) }
    func makeDirectory(_ path: FilePath) throws(Errno) { try files.makeDirectory(path) }
}
