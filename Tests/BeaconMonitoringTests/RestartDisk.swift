import EventLog
import SystemPackage
import TestSupport

/// A disk in memory that loses unsynchronized data when its power fails, and a process that can be killed at any call
/// that changes something.
///
/// The disk is strict: only synchronizing a file makes its content durable, and only synchronizing its folder makes its
/// name durable. After a power failure, the seed decides whether other data is present, absent, or present in part,
/// with holes of zeros.
final class SimulatedDisk: FileSystemCalls {
    /// How a process ends.
    enum Kill: Equatable {
        /// Only the process ends. The kernel still has the data that it wrote.
        case process
        /// The power fails. Data that is not synchronized can be lost.
        case power
    }

    private enum Change {
        case write(offset: Int, [UInt8])
        case truncate(Int)
    }

    private final class File {
        var bytes: [UInt8] = []
        var durable: [UInt8] = []
        var pending: [Change] = []

        static func apply(_ change: Change, to bytes: inout [UInt8]) {
            switch change {
            case .write(let offset, let new):
                if bytes.count < offset + new.count {
                    bytes += [UInt8](repeating: 0, count: offset + new.count - bytes.count)
                }
                bytes.replaceSubrange(offset..<offset + new.count, with: new)
            case .truncate(let size):
                if bytes.count < size {
                    bytes += [UInt8](repeating: 0, count: size - bytes.count)
                } else {
                    bytes.removeLast(bytes.count - size)
                }
            }
        }
    }

    private enum Entry {
        case file(File)
        case link(String)
    }

    private enum NameChange {
        case put(String, Entry)
        case remove(String)
    }

    private var names: [String: Entry] = [:]
    private var durableNames: [String: Entry] = [:]
    /// The changes of names that are not durable, by folder and in order. After a power failure, a random
    /// number of the first of them remains, possibly none.
    private var pendingNames: [String: [NameChange]] = [:]
    private var directories: Set<String> = []
    private var handles: [Handle: File] = [:]
    private var lastHandle: Handle = 2
    private var random: SeededGenerator

    /// The number of calls that changed something since the last start.
    private(set) var calls = 0
    /// The call at which the process is killed.
    var killAt: Int?
    private(set) var isDead = false
    /// The number of bytes for which there is room.
    var room = Int.max
    /// The error with which each call that changes something fails; `nil` if it does not fail.
    var failure: Errno?

    init(seed: UInt64) { random = SeededGenerator(state: seed) }

    // MARK: Restarts and content

    /// Starts the process again after it was killed.
    func restart(after kill: Kill) {
        handles = [:]
        calls = 0
        killAt = nil
        isDead = false
        guard kill == .power else { return }
        for folder in pendingNames.keys.sorted() {
            let changes = pendingNames[folder] ?? []
            for change in changes.prefix(Int(random.next() % UInt64(changes.count + 1))) {
                Self.apply(change, to: &durableNames)
            }
        }
        pendingNames = [:]
        names = durableNames
        for path in names.keys.sorted() {
            guard case .file(let file)? = names[path] else { continue }
            for change in file.pending {
                switch (change, random.next() % 4) {
                case (_, 0): break
                case (.write(let offset, let bytes), 1):
                    let kept = Int(random.next() % UInt64(bytes.count + 1))
                    File.apply(.write(offset: offset, Array(bytes.prefix(kept))), to: &file.durable)
                default: File.apply(change, to: &file.durable)
                }
            }
            file.pending = []
            file.bytes = file.durable
        }
    }

    func contents(_ path: String) -> [UInt8]? {
        guard case .file(let file)? = names[path] else { return nil }
        return file.bytes
    }

    /// Returns the names below a folder, in order.
    func list(_ folder: String) -> [String] {
        names.keys.filter { $0.hasPrefix(folder + "/") }.map { String($0.dropFirst(folder.utf8.count + 1)) }.sorted()
    }

    func delete(_ path: String) {
        names[path] = nil
        durableNames[path] = nil
    }

    func put(_ path: String, _ bytes: [UInt8]) {
        let file = File()
        file.bytes = bytes
        file.durable = bytes
        names[path] = .file(file)
        durableNames[path] = .file(file)
    }

    // MARK: Calls

    /// Counts a call.
    ///
    /// - Returns: whether the process is killed at this call, which then has its full effect, a part of it, or none.
    private func count() throws(Errno) -> Bool {
        guard !isDead else { throw .ioError }
        calls += 1
        if calls == killAt {
            isDead = true
            return true
        }
        if let failure { throw failure }
        return false
    }

    private func check() throws(Errno) { if isDead { throw .ioError } }

    private func file(_ handle: Handle) throws(Errno) -> File {
        guard let file = handles[handle] else { throw .badFileDescriptor }
        return file
    }

    private static func folder(_ path: String) -> String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "" }

    private static func apply(_ change: NameChange, to names: inout [String: Entry]) {
        switch change {
        case .put(let path, let entry): names[path] = entry
        case .remove(let path): names[path] = nil
        }
    }

    private func change(_ changes: NameChange..., in folder: String) {
        for change in changes {
            Self.apply(change, to: &names)
            pendingNames[folder, default: []].append(change)
        }
    }

    func open(_ path: FilePath, isNew: Bool) throws(Errno) -> Handle {
        let path = path.string
        if isNew {
            let dies = try count()
            guard directories.contains(Self.folder(path)) else { throw .noSuchFileOrDirectory }
            guard names[path] == nil else { throw .fileExists }
            if dies, random.chance(50) { throw .ioError }
            change(.put(path, .file(File())), in: Self.folder(path))
            if dies { throw .ioError }
        }
        return try open(path)
    }

    func openForReading(_ path: FilePath) throws(Errno) -> Handle { try open(path.string) }

    private func open(_ path: String) throws(Errno) -> Handle {
        try check()
        guard case .file(let file)? = names[path] else { throw .noSuchFileOrDirectory }
        lastHandle += 1
        handles[lastHandle] = file
        return lastHandle
    }

    func size(of file: Handle) throws(Errno) -> Int {
        try check()
        return try self.file(file).bytes.count
    }

    func read(_ file: Handle, at offset: Int, count: Int, appendingTo buffer: inout [UInt8]) throws(Errno) -> Int {
        try check()
        let part = try self.file(file).bytes.dropFirst(offset).prefix(count)
        buffer += part
        return part.count
    }

    func write(_ handle: Handle, at offset: Int, _ bytes: UnsafeRawBufferPointer) throws(Errno) -> Int {
        let dies = try count()
        let file = try file(handle)
        var bytes = Array(bytes)
        // A call can write fewer bytes than it was given.
        if dies || random.chance(10) { bytes.removeLast(Int(random.next() % UInt64(bytes.count))) }
        let used = handles.values.reduce(0) { $0 + $1.bytes.count }
        bytes.removeLast(max(0, min(bytes.count, used + bytes.count - room)))
        if bytes.isEmpty { throw .noSpace }
        let change = Change.write(offset: offset, bytes)
        File.apply(change, to: &file.bytes)
        file.pending.append(change)
        if dies { throw .ioError }
        return bytes.count
    }

    func truncate(_ handle: Handle, to size: Int) throws(Errno) {
        let dies = try count()
        let file = try file(handle)
        if dies, random.chance(50) { throw .ioError }
        File.apply(.truncate(size), to: &file.bytes)
        file.pending.append(.truncate(size))
        if dies { throw .ioError }
    }

    func open(_ path: FilePath, replacing original: Handle) throws(Errno) -> Handle { try open(path, isNew: true) }
    // Files of this disk have no owners.
    func copyOwnership(of original: Handle, to file: Handle) throws(Errno) {}

    func synchronize(_ handle: Handle) throws(Errno) {
        let dies = try count()
        let file = try file(handle)
        if dies, random.chance(50) { throw .ioError }
        file.durable = file.bytes
        file.pending = []
        if dies { throw .ioError }
    }

    func close(_ file: Handle) { handles[file] = nil }

    func rename(_ path: FilePath, to other: FilePath) throws(Errno) {
        let dies = try count()
        guard let entry = names[path.string] else { throw .noSuchFileOrDirectory }
        if dies, random.chance(50) { throw .ioError }
        // This is one change of the folder: at any time, at least one of the names exists.
        Self.apply(.put(other.string, entry), to: &names)
        Self.apply(.remove(path.string), to: &names)
        pendingNames[Self.folder(path.string), default: []] += [.put(other.string, entry), .remove(path.string)]
        if dies { throw .ioError }
    }

    func remove(_ path: FilePath) throws(Errno) {
        guard names[path.string] != nil else { return try { () throws(Errno) in throw .noSuchFileOrDirectory }() }
        let dies = try count()
        if dies, random.chance(50) { throw .ioError }
        change(.remove(path.string), in: Self.folder(path.string))
        if dies { throw .ioError }
    }

    func link(_ path: FilePath, to target: String) throws(Errno) {
        let dies = try count()
        guard names[path.string] == nil else { throw .fileExists }
        if dies, random.chance(50) { throw .ioError }
        change(.put(path.string, .link(target)), in: Self.folder(path.string))
        if dies { throw .ioError }
    }

    func target(of link: FilePath) throws(Errno) -> String {
        try check()
        switch names[link.string] {
        case .link(let target): return target
        case .file: throw .invalidArgument
        case nil: throw .noSuchFileOrDirectory
        }
    }

    func leads(_ path: FilePath, to file: Handle) throws(Errno) -> Bool {
        try check()
        guard case .file(let found)? = names[path.string] else { return false }
        return try found === self.file(file)
    }

    func names(in directory: FilePath) throws(Errno) -> [String] {
        try check()
        guard directories.contains(directory.string) else { throw .noSuchFileOrDirectory }
        return list(directory.string)
    }

    func makeDirectory(_ path: FilePath) throws(Errno) {
        if directories.contains(path.string) { return }
        let dies = try count()
        directories.insert(path.string)
        if dies { throw .ioError }
    }

    func synchronizeDirectory(_ path: FilePath) throws(Errno) {
        let dies = try count()
        if dies, random.chance(50) { throw .ioError }
        for change in pendingNames[path.string] ?? [] { Self.apply(change, to: &durableNames) }
        pendingNames[path.string] = nil
        if dies { throw .ioError }
    }
}
