public import BeaconMonitoring
public import SystemPackage

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// The right to be the one that has a state directory, or a monitor's name in it (rule N1), until it is released.
///
/// An open file description lock (flock(2)): it ends with the process however that ends, and holds against this process
/// too. The file stays where it is and says who has it.
public final class StateLock {
    private let descriptor: FileDescriptor
    private var isHeld = true

    /// Takes the lock of a monitor's name, or without one of the directory as a whole.
    ///
    /// - Parameters:
    ///   - name: the monitor's.
    ///   - directory: the state directory; made where it is not there.
    ///   - program: who takes it, for people: `beacon-gateway run`.
    /// - Throws: ``EventLogError/inUse(_:holder:lock:)`` with who has it, ``EventLogError/createFailed(_:_:)``.
    public init(
        _ name: Identifier? = nil, in directory: FilePath, program: String
    ) throws(EventLogError) {
        let path = directory.appending(name.map { "monitor-\($0.text).lock" } ?? "gateway.lock")
        let what = name.map { "the monitor “\($0.text)”" } ?? "the state directory \(directory.string)"
        do {
            try Self.makeDirectories(directory)
            descriptor = try FileDescriptor.open(
                path, .readWrite, options: [.create, .closeOnExec],
                permissions: [.ownerReadWrite, .groupRead, .otherRead])
        } catch {
            throw .createFailed(path.string, error as? Errno ?? .ioError)
        }
        guard flock(descriptor.rawValue, LOCK_EX | LOCK_NB) == 0 else {
            let failure = Errno(rawValue: errno)
            let holder = Self.holder(descriptor)
            try? descriptor.close()
            guard failure == .wouldBlock else { throw .createFailed(path.string, failure) }
            throw .inUse(what, holder: holder, lock: path.string)
        }
        // Where the disk is full nobody learns who has it, but it is had.
        _ = ftruncate(descriptor.rawValue, 0)
        _ = try? descriptor.writeAll(toAbsoluteOffset: 0, "\(program), process \(getpid())\n".utf8)
    }

    deinit { release() }

    /// Gives the lock back.
    public func release() {
        guard isHeld else { return }
        isHeld = false
        // Closing ends the lock; it can't fail in a way that anybody could act on.
        try? descriptor.close()
    }

    private static func makeDirectories(_ path: FilePath) throws(Errno) {
        let files = SystemFiles()
        do throws(Errno) {
            try files.makeDirectory(path)
        } catch {
            var parent = path
            guard error == .noSuchFileOrDirectory, parent.removeLastComponent(), !parent.isEmpty else { throw error }
            try makeDirectories(parent)
            try files.makeDirectory(path)
        }
    }

    private static func holder(_ descriptor: FileDescriptor) -> String {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            (try? unsafe descriptor.read(fromAbsoluteOffset: 0, into: buffer)) ?? 0
        }
        let text = String(decoding: bytes[..<count].prefix { $0 != 0x0A }, as: UTF8.self)
        return text.isEmpty ? "another process" : text
    }
}
