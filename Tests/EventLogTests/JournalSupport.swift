import BluetoothLE
import Foundation
import SystemPackage

@testable import BeaconMonitoring
@testable import EventLog

/// A folder for one test's files, gone with this value.
final class Folder {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("journal-\(UUID().uuidString)").path

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The event files, in the order of their lines.
    var segments: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path + "/events")) ?? [])
            .filter { $0.hasPrefix("events-") }.sorted()
    }

    func read(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(fileURLWithPath: path + "/" + name)), as: UTF8.self)
    }

    func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path + "/" + name))
    }

    /// All lines of all event files.
    var lines: [String] {
        get throws { try segments.flatMap { try read("events/" + $0).split(separator: "\n").map(String.init) } }
    }

    /// The numbers of all lines that have one.
    var numbers: [Int] {
        get throws {
            try lines.compactMap { line in
                var text = JSONText(Array(line.utf8))
                guard text.parse() else { return -1 }
                return text.integer(text.find("sequence", in: text.find("payload", in: 0) ?? 0))
            }
        }
    }
}

/// The machine's files, but for what a test makes fail.
final class FailingFiles: FileSystemCalls {
    /// The calls that can be made to fail.
    enum Call { case open, write, truncate, synchronize, rename, remove, link, synchronizeDirectory }

    let files = SystemFiles()
    var failures: [Call: Errno] = [:]
    /// Whether anything is put on the disk: a test that does not cut the power need not wait for it.
    var synchronizes = true
    /// Of a write that fails, how many octets are written all the same.
    var partial = 0
    private(set) var counts: [Call: Int] = [:]

    private func check(_ call: Call) throws(Errno) {
        counts[call, default: 0] += 1
        if let failure = failures[call] { throw failure }
    }

    func open(_ path: FilePath, isNew: Bool) throws(Errno) -> Handle {
        try check(.open)
        return try files.open(path, isNew: isNew)
    }

    func openForReading(_ path: FilePath) throws(Errno) -> Handle { try files.openForReading(path) }
    func size(of file: Handle) throws(Errno) -> Int { try files.size(of: file) }

    func read(_ file: Handle, at offset: Int, count: Int, appendingTo buffer: inout [UInt8]) throws(Errno) -> Int {
        try files.read(file, at: offset, count: count, appendingTo: &buffer)
    }

    func write(_ file: Handle, at offset: Int, _ bytes: UnsafeRawBufferPointer) throws(Errno) -> Int {
        do throws(Errno) { try check(.write) } catch {
            guard partial > 0 else { throw error }
            let count = min(partial, bytes.count)
            partial = 0
            return try files.write(file, at: offset, UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        }
        return try files.write(file, at: offset, bytes)
    }

    func truncate(_ file: Handle, to size: Int) throws(Errno) {
        try check(.truncate)
        try files.truncate(file, to: size)
    }

    func synchronize(_ file: Handle) throws(Errno) {
        try check(.synchronize)
        if synchronizes { try files.synchronize(file) }
    }

    func close(_ file: Handle) { files.close(file) }

    func rename(_ path: FilePath, to other: FilePath) throws(Errno) {
        try check(.rename)
        try files.rename(path, to: other)
    }

    func remove(_ path: FilePath) throws(Errno) {
        try check(.remove)
        try files.remove(path)
    }

    func link(_ path: FilePath, to target: String) throws(Errno) {
        try check(.link)
        try files.link(path, to: target)
    }

    func target(of link: FilePath) throws(Errno) -> String { try files.target(of: link) }
    func leads(_ path: FilePath, to file: Handle) throws(Errno) -> Bool { try files.leads(path, to: file) }
    func names(in directory: FilePath) throws(Errno) -> [String] { try files.names(in: directory) }
    func makeDirectory(_ path: FilePath) throws(Errno) { try files.makeDirectory(path) }

    func synchronizeDirectory(_ path: FilePath) throws(Errno) {
        try check(.synchronizeDirectory)
        if synchronizes { try files.synchronizeDirectory(path) }
    }
}

extension Instant {
    static let start = Instant(nanoseconds: 1_000_000_000_000)
}

/// 2026-11-21T00:00:00Z at the start.
let startOffset = ClockOffset(nanoseconds: 1_795_219_200_000_000_000 - Instant.start.nanoseconds)

extension Journal {
    /// A journal in a folder, with an adapter `hci0`.
    convenience init(
        in folder: Folder, files: any FileSystemCalls = SystemFiles(), machine: String = "aaaaaaaa",
        process: UInt32 = 1, at now: Instant = .start, offset: ClockOffset = startOffset, synchronized: Bool = true,
        _ change: (inout JournalOptions) -> Void = { _ in }
    ) throws {
        var options = JournalOptions(
            directory: FilePath(folder.path + "/events"), stateDirectory: FilePath(folder.path + "/state"),
            gateway: try Identifier("lobby"))
        options.envelope = false
        change(&options)
        try self.init(
            options, boot: BootID(machine: machine, process: process), now: now, clockOffset: offset,
            isClockSynchronized: synchronized, files: files)
        name(Sample.adapter, "hci0")
    }

    /// Appends an event of a condition and commits it.
    func event(_ identifier: String = "staff", _ state: BeaconMonitor.Event.State = .satisfied, at seconds: Int) {
        append(.event(Sample.event(identifier, state, at: seconds)))
        commit(at: .start + .seconds(seconds))
    }
}

extension Sample {
    static func event(_ identifier: String = "staff", _ state: BeaconMonitor.Event.State = .satisfied, at seconds: Int)
        -> BeaconMonitor.Event
    {
        var event = Sample.event
        event.identifier = identifier
        event.scope = .condition
        event.state = state
        event.time = .start + .seconds(seconds)
        event.clockOffset = startOffset
        event.lastSeen = event.time
        event.sighting?.time = event.time
        // A line does not tell the address's type.
        event.sighting?.address = DeviceAddress(0xC098_E500_0007, kind: .unspecified)
        if state != .satisfied { event.refinement = nil }
        return event
    }
}
