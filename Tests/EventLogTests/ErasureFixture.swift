import BaseTypes
import Foundation
import SystemPackage
import TestSupport

@testable import BeaconMonitoring
@testable import BluetoothLE
@testable import EventLog

/// A gateway's folder with random contents, determined by a seed. It has beacons that enter, exit and are displaced,
/// ranging, evidence, and outages. It has restarts of the process and of the machine, clock steps, several files, and a
/// snapshot.
final class ErasureFixture {
    let folder: Folder
    let beacons: [BeaconIdentity]
    var random: SeededGenerator
    private let withEnvelope: Bool
    private(set) var now = Instant.start
    private var machine = "aaaaaaaa"
    private var process: UInt32 = 0

    // `turns` is the number of inputs in each run of the process.
    init(seed: UInt64, turns: Int = 60) throws {
        folder = try Folder()
        random = SeededGenerator(state: seed)
        withEnvelope = random.chance(80)
        let uuids = [Sample.uuid, ProximityUUID(high: random.next(), low: random.next())]
        beacons = (0..<6).map { index in
            // Some numbers start with the digits of another beacon's number.
            BeaconIdentity(uuid: uuids[index % 2], major: [1, 10, 100][index % 3], minor: [7, 70, 7, 71, 1, 7][index])
        }
        for _ in 0...random.below(3) { try run(turns) }
    }

    /// Returns the address of a beacon. No other beacon has it.
    func address(of beacon: BeaconIdentity) -> DeviceAddress {
        DeviceAddress(0xC0_0000 + UInt64(beacons.firstIndex(of: beacon) ?? 99) * 0x0101_0101, kind: .random)
    }

    /// Opens the journal as the next start does.
    func journal() throws -> Journal {
        process += 1
        let files = FailingFiles()
        files.synchronizes = false
        return try Journal(in: folder, files: files, machine: machine, process: process, at: now) {
            $0.envelope = self.withEnvelope
            $0.rotateSize = 6000
            $0.waitsForPublishing = false
        }
    }

    private func setup() throws -> MonitorSetup {
        var perBeacon = ConditionSettings()
        perBeacon.perBeacon = true
        perBeacon.exitTimeout = .seconds(5)
        var together = ConditionSettings()
        together.exitTimeout = .seconds(4)
        func condition(_ name: String, _ identity: BeaconMonitor.BeaconIdentityCondition, _ settings: ConditionSettings)
            throws -> MonitorSetup.Condition
        {
            MonitorSetup.Condition(identifier: try Identifier(name), condition: .beacon(identity), settings: settings)
        }
        let exact = beacons[0]
        return MonitorSetup(
            name: try Identifier("site"),
            conditions: [
                try condition("staff", .init(uuid: beacons[0].uuid), perBeacon),
                try condition("visitors", .init(uuid: beacons[1].uuid, major: beacons[1].major), perBeacon),
                try condition("anybody", .init(uuid: beacons[0].uuid), together),
                try condition("badge", .init(uuid: exact.uuid, major: exact.major, minor: exact.minor), together),
            ])
    }

    private func run(_ turns: Int) throws {
        if random.chance(30) { machine = String(format: "%08x", UInt32(truncatingIfNeeded: random.next())) }
        let journal = try journal()
        var recorder = EvidenceRecorder()
        var actions = ActionBuffer()
        var settings = EngineSettings()
        settings.maxBeacons = 4
        var engine = MonitorEngine(settings: settings, start: now, clockOffset: journal.clockOffset)
        try engine.begin(
            [try setup()], naming: [beacons[2]], from: journal.recovery.snapshot, at: now, into: &actions)
        let adapter = try engine.adapter(named: "hci0", at: now, into: &actions)
        engine.listening(ListeningChange(.started, adapter: adapter), at: now, into: &actions)
        for _ in 0..<turns {
            now = now + .milliseconds(100 + random.below(2500))
            engine.advance(to: now, into: &actions)
            switch random.below(12) {
            case 0:
                engine.listening(
                    ListeningChange(.stopped(since: now - .seconds(1)), adapter: adapter), at: now, into: &actions)
            case 1: engine.listening(ListeningChange(.started, adapter: adapter), at: now, into: &actions)
            case 2:
                let seen = beacons.filter { _ in random.chance(50) }
                journal.append(
                    Ranging(
                        condition: .init(uuid: beacons[0].uuid), time: now, clockOffset: engine.clockOffset,
                        beacons: seen.map {
                            RangedBeacon(
                                beacon: $0, rssi: -60.5, proximity: .near, accuracy: 1.5, count: 2, lastSighting: now)
                        }), monitor: "site", identifier: "staff")
            case 3 where random.chance(30):
                let offset = ClockOffset(nanoseconds: engine.clockOffset.nanoseconds + 3_000_000_000)
                journal.append(
                    ClockChange(before: engine.clockOffset, after: offset, isSynchronized: true, time: now))
                engine.clockOffset = offset
            default:
                let beacon = random.pick(beacons)
                recorder.sighted(beacon, by: adapter, rssi: RSSI(dBm: -60), at: now)
                engine.sighted(
                    Sighting(
                        time: now, adapter: adapter, beacon: beacon, measuredPower: -59, rssi: RSSI(dBm: -60),
                        address: address(of: beacon)), into: &actions)
            }
            journal.append(actions, evidence: &recorder)
            actions.removeAll()
            journal.commit(at: now)
            if random.chance(5) { journal.keep(engine.snapshot, at: now) }
            journal.advance(to: now)
        }
        // The process crashes, or stops normally.
        if random.chance(50) { journal.close(engine.snapshot, at: now) }
    }

    // MARK: Contents

    /// Returns all files by their paths within the folder.
    func files() throws -> [String: Data] {
        var files: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
            let url = URL(fileURLWithPath: folder.path + "/" + name)
            let values = try url.resourceValues(forKeys: [.isRegularFileKey])
            if values.isRegularFile == true { files[name] = try Data(contentsOf: url) }
        }
        return files
    }

    /// Returns all numbers that a follower reads from the start of the files.
    func numbers() throws -> [Int] {
        var follower = LineFollower(FilePath(folder.path + "/events"), from: LinePosition(sequence: 0))
        return try follower.takeNumbers(.max)
    }

    func erase(
        _ request: ErasureRequest, files: any FileSystemCalls = SystemFiles(), isDryRun: Bool = false
    ) throws -> (files: Int, counts: ErasureCounts, state: [String]) {
        let state = try StateErasure(FilePath(folder.path + "/state"), request, files: files).run(isDryRun: isDryRun)
        var erasure = try EventFilesErasure(FilePath(folder.path + "/events"), request, files: files)
        try erasure.run(isDryRun: isDryRun)
        return (erasure.files, erasure.counts, state)
    }
}

extension LineFollower {
    /// Returns the numbers of the next lines, at most `count`. Lines without a number are skipped.
    mutating func takeNumbers(_ count: Int) throws -> [Int] {
        var (line, message, numbers): ([UInt8], LineMessage, [Int]) = ([], LineMessage(prefix: "p"), [])
        while numbers.count < count, try next(into: &line, upTo: .max, &message) {
            if let number = message.sequence { numbers.append(number) }
        }
        return numbers
    }
}

/// The file system of a process that dies at one of its system calls: this call and all later ones do nothing.
final class DyingFiles: FileSystemCalls {
    private let files = SystemFiles()
    private let calls: Int
    private let partial: Bool
    private(set) var count = 0
    /// The number of calls before each call that changes a file, or synchronizes a change.
    private(set) var changes: [Int] = []
    /// Called before each call, for changes by other processes.
    var meanwhile: () throws -> Void = {}

    /// Creates the file system of a process.
    ///
    /// - Parameters:
    ///   - calls: the number of calls that succeed.
    ///   - partial: whether half of the data is written if the process dies at a write.
    init(after calls: Int, partial: Bool = false) {
        self.calls = calls
        self.partial = partial
    }

    private func change() throws(Errno) {
        changes.append(count)
        try live()
    }

    private func live() throws(Errno) {
        do { try meanwhile() } catch { throw error as? Errno ?? .invalidArgument }
        count += 1
        if count > calls { throw .interrupted }
    }

    func open(_ path: FilePath, isNew: Bool) throws(Errno) -> Handle {
        if isNew { try change() } else { try live() }
        return try files.open(path, isNew: isNew)
    }
    func openForReading(_ path: FilePath) throws(Errno) -> Handle {
        try live()
        return try files.openForReading(path)
    }
    func leads(_ path: FilePath, to file: Handle) throws(Errno) -> Bool {
        try live()
        return try files.leads(path, to: file)
    }
    func size(of file: Handle) throws(Errno) -> Int {
        try live()
        return try files.size(of: file)
    }
    func read(_ file: Handle, at offset: Int, count: Int, appendingTo buffer: inout [UInt8]) throws(Errno) -> Int {
        try live()
        return try files.read(file, at: offset, count: count, appendingTo: &buffer)
    }
    func write(_ file: Handle, at offset: Int, _ bytes: UnsafeRawBufferPointer) throws(Errno) -> Int {
        do throws(Errno) { try change() } catch {
            if partial, count == calls + 1 {
                _ = try files.write(file, at: offset, UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)]))
            }
            throw error
        }
        // Short writes must not be treated as errors.
        let part = max(1, bytes.count * 2 / 3)
        return try files.write(file, at: offset, UnsafeRawBufferPointer(rebasing: bytes[..<part]))
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
    // These tests do not simulate a power failure, so nothing is synchronized.
    func synchronize(_ file: Handle) throws(Errno) { try change() }
    func close(_ file: Handle) { files.close(file) }
    func rename(_ path: FilePath, to other: FilePath) throws(Errno) {
        try change()
        try files.rename(path, to: other)
    }
    func remove(_ path: FilePath) throws(Errno) {
        try change()
        try files.remove(path)
    }
    func link(_ path: FilePath, to target: String) throws(Errno) {
        try change()
        try files.link(path, to: target)
    }
    func target(of link: FilePath) throws(Errno) -> String {
        try live()
        return try files.target(of: link)
    }
    func names(in directory: FilePath) throws(Errno) -> [String] {
        try live()
        return try files.names(in: directory)
    }
    func makeDirectory(_ path: FilePath) throws(Errno) {
        try change()
        try files.makeDirectory(path)
    }
    func synchronizeDirectory(_ path: FilePath) throws(Errno) { try change() }
}
