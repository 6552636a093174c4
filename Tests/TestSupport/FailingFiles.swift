package import EventLog
import Synchronization
package import SystemPackage

/// The file system of the machine, except for calls that a test lets fail. Any thread can use it.
package final class FailingFiles: FileSystemCalls, Sendable {
    /// The calls that can be made to fail.
    package enum Call: Sendable {
        case open, write, truncate, copyOwnership, synchronize, rename, remove, link, synchronizeDirectory
    }

    private struct State {
        var failures: [Call: Errno] = [:]
        var synchronizes = true
        var partial = 0
        var counts: [Call: Int] = [:]
        var names: [Handle: String] = [:]
        var synchronized: [String: Int] = [:]
        var bytesRead = 0
        var deletions: [String: Int] = [:]
    }

    private let state = Mutex(State())
    private var files: SystemFiles { SystemFiles() }

    /// Creates a file system in which no call fails.
    package init() {}

    /// The calls that fail, and their errors.
    package var failures: [Call: Errno] {
        get { state.withLock { $0.failures } }
        set { state.withLock { $0.failures = newValue } }
    }
    /// Whether files are synchronized to the disk. A test that does not cut the power should not wait for this.
    package var synchronizes: Bool {
        get { state.withLock { $0.synchronizes } }
        set { state.withLock { $0.synchronizes = newValue } }
    }
    /// The number of bytes of a short write that replaces the next failing write. It has no error; the write after it
    /// fails.
    package var partial: Int {
        get { state.withLock { $0.partial } }
        set { state.withLock { $0.partial = newValue } }
    }
    /// Files that are deleted immediately before they are opened for reading: by the last component of their path, the
    /// number of the opening, from 1.
    package var deletions: [String: Int] {
        get { state.withLock { $0.deletions } }
        set { state.withLock { $0.deletions = newValue } }
    }
    /// The number of calls of each kind.
    package var counts: [Call: Int] { state.withLock { $0.counts } }
    /// The length of each file at its last synchronization, by the last component of its path.
    package var synchronized: [String: Int] { state.withLock { $0.synchronized } }

    /// The number of bytes that were read from files.
    package var bytesRead: Int { state.withLock { $0.bytesRead } }

    private func check(_ call: Call) throws(Errno) {
        let failure = state.withLock { state in
            state.counts[call, default: 0] += 1
            return state.failures[call]
        }
        if let failure { throw failure }
    }

    private func note(_ file: Handle, _ path: FilePath) -> Handle {
        state.withLock { $0.names[file] = path.lastComponent?.string ?? "" }
        return file
    }

    package func open(_ path: FilePath, isNew: Bool) throws(Errno) -> Handle {
        try check(.open)
        return note(try files.open(path, isNew: isNew), path)
    }

    package func openForReading(_ path: FilePath) throws(Errno) -> Handle {
        let name = path.lastComponent?.string ?? ""
        let left = state.withLock { state in
            state.deletions[name]? -= 1
            return state.deletions[name]
        }
        if left == 0 { try files.remove(path) }
        return note(try files.openForReading(path), path)
    }

    package func size(of file: Handle) throws(Errno) -> Int { try files.size(of: file) }

    package func read(
        _ file: Handle, at offset: Int, count: Int, appendingTo buffer: inout [UInt8]
    ) throws(Errno) -> Int {
        let read = try files.read(file, at: offset, count: count, appendingTo: &buffer)
        state.withLock { $0.bytesRead += read }
        return read
    }

    package func write(_ file: Handle, at offset: Int, _ bytes: UnsafeRawBufferPointer) throws(Errno) -> Int {
        do throws(Errno) { try check(.write) } catch {
            let count = min(partial, bytes.count)
            guard count > 0 else { throw error }
            partial = 0
            return try files.write(file, at: offset, UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        }
        return try files.write(file, at: offset, bytes)
    }

    package func truncate(_ file: Handle, to size: Int) throws(Errno) {
        try check(.truncate)
        try files.truncate(file, to: size)
    }

    package func open(_ path: FilePath, replacing original: Handle) throws(Errno) -> Handle {
        try check(.open)
        return note(try files.open(path, replacing: original), path)
    }

    package func copyOwnership(of original: Handle, to file: Handle) throws(Errno) {
        try check(.copyOwnership)
        try files.copyOwnership(of: original, to: file)
    }

    package func synchronize(_ file: Handle) throws(Errno) {
        try check(.synchronize)
        // Bytes that are written meanwhile can be on the disk or not, so they must not count.
        let size = try files.size(of: file)
        if synchronizes { try files.synchronize(file) }
        state.withLock { state in
            if let name = state.names[file] { state.synchronized[name] = size }
        }
    }

    package func close(_ file: Handle) { files.close(file) }

    package func rename(_ path: FilePath, to other: FilePath) throws(Errno) {
        try check(.rename)
        try files.rename(path, to: other)
    }

    package func remove(_ path: FilePath) throws(Errno) {
        try check(.remove)
        try files.remove(path)
    }

    package func link(_ path: FilePath, to target: String) throws(Errno) {
        try check(.link)
        try files.link(path, to: target)
    }

    package func target(of link: FilePath) throws(Errno) -> String { try files.target(of: link) }
    package func leads(_ path: FilePath, to file: Handle) throws(Errno) -> Bool { try files.leads(path, to: file) }
    package func names(in directory: FilePath) throws(Errno) -> [String] { try files.names(in: directory) }
    package func makeDirectory(_ path: FilePath) throws(Errno) { try files.makeDirectory(path) }

    package func synchronizeDirectory(_ path: FilePath) throws(Errno) {
        try check(.synchronizeDirectory)
        if synchronizes { try files.synchronizeDirectory(path) }
    }
}
