import BluetoothLE
import BrokerSupport
import Foundation
import SiteLog
import SiteLogSupport
import SystemPackage
import TestSupport
import Testing

@testable import SiteLogFiles

/// A log in a folder of its own, and time that goes on where somebody waits for it.
final class FolderWorld: LogWorld {
    let folder: TestFolder
    let limits = LogLimits()
    private let log: DirectoryLog
    private(set) var now = Instant(nanoseconds: 1_700_000_000_000_000_000)

    init(segmentOctetsMax: Int = 64 << 20) throws {
        folder = try TestFolder()
        log = try DirectoryLog(FilePath(folder.path), isWriting: true, segmentOctetsMax: segmentOctetsMax)
    }

    func client() -> any SightingLog { log.client() }
    func turn(_ log: any SightingLog) { now = max(now, log.nextDeadline ?? now) }
    func outliveLease() { now = now + limits.leaseTime }
}

/// A folder in which a log is opened again and again.
final class Shelf {
    let folder: TestFolder
    let files = FailingFiles()
    var now = Instant(nanoseconds: 1_700_000_000_000_000_000)

    init() throws { folder = try TestFolder() }

    func open(isWriting: Bool = true, segmentOctetsMax: Int = 64 << 20) throws -> DirectoryLog {
        try DirectoryLog(
            FilePath(folder.path), isWriting: isWriting, segmentOctetsMax: segmentOctetsMax, files: files)
    }

    func ask(_ log: DirectoryLog, _ request: LogRequest) throws -> Result<LogResponse, LogTrouble>? {
        let client = log.client()
        _ = try client.send(request, at: now)
        return client.answers(at: now).first?.result
    }

    func append(_ log: DirectoryLog, _ sequence: UInt64, _ text: String) throws -> Result<LogResponse, LogTrouble>? {
        let key = BatchKey(gateway: try LogName("lobby"), boot: 1, sequence: sequence)
        return try ask(log, .append(key, Array(text.utf8)))
    }

    func texts(_ log: DirectoryLog, from: UInt64 = 1) throws -> [String] {
        guard case .batches(let page) = try #require(try ask(log, .readBatches(LogRange(from: from)))).get() else {
            return []
        }
        return page.entries.map { String(decoding: $0.octets, as: UTF8.self) }
    }

    var first: URL { URL(fileURLWithPath: folder.file("batches-00000000000000000001.log")) }
}

@Suite struct DirectoryLogTests {
    @Test(arguments: LogClaim.allCases) func `a log in a folder does what all logs do`(_ claim: LogClaim) async throws {
        try await claim.hold(FolderWorld())
    }

    @Test(arguments: LogClaim.allCases)
    func `a log in a folder with a file for nearly each record does what all logs do`(_ claim: LogClaim) async throws {
        try await claim.hold(FolderWorld(segmentOctetsMax: 120))
    }

    @Test(arguments: [64 << 20, 100]) func `what was acknowledged is there when the folder is opened again`(
        _ segmentOctetsMax: Int
    ) throws {
        let shelf = try Shelf()
        let name = SnapshotName(offset: 3, writer: try LogName("site-a"))
        let key = try LogName("checkpoint")
        do {
            let log = try shelf.open(segmentOctetsMax: segmentOctetsMax)
            for number in 1...3 as ClosedRange<UInt64> { _ = try shelf.append(log, number, "batch \(number)") }
            _ = try shelf.ask(log, .publish([[1], [2]], after: 0))
            _ = try shelf.ask(log, .writeSnapshot(SnapshotPiece(name, index: 0, isLast: true, octets: [7])))
            _ = try shelf.ask(log, .writeValue(key, [8], over: nil))
            _ = try shelf.ask(log, .acquireLease(name.writer))
        }
        let log = try shelf.open(segmentOctetsMax: segmentOctetsMax)
        #expect(try shelf.texts(log) == ["batch 1", "batch 2", "batch 3"])
        #expect(try shelf.append(log, 1, "batch 1") == .success(.appended(offset: 1, isRepeat: true)))
        #expect(try shelf.append(log, 4, "batch 4") == .success(.appended(offset: 4, isRepeat: false)))
        #expect(try shelf.ask(log, .publish([[2]], after: 1)) == .success(.fenced(last: 2)))
        #expect(try shelf.ask(log, .publish([[3]], after: 2)) == .success(.published(last: 3)))
        #expect(try shelf.ask(log, .latestSnapshot) == .success(.snapshot(SnapshotHead(name, pieces: 1))))
        #expect(try shelf.ask(log, .readSnapshot(name, index: 0)) == .success(.piece([7])))
        #expect(try shelf.ask(log, .readValue(key)) == .success(.value(StoredValue(octets: [8], revision: 1))))
        #expect(try shelf.ask(log, .writeValue(key, [9], over: 1)) == .success(.written(revision: 2)))
        #expect(try shelf.ask(log, .readLease) == .success(.lease(.free)))
    }

    @Test func `one writes in a folder, others read`() throws {
        let shelf = try Shelf()
        let log = try shelf.open()
        _ = try shelf.append(log, 1, "one")
        #expect(throws: LogTrouble.self) { try shelf.open() }
        let reader = try shelf.open(isWriting: false)
        #expect(try shelf.texts(reader) == ["one"])
        guard case .failure(.refused) = try shelf.append(reader, 2, "two") else {
            Issue.record("a folder that was opened to be read was written in")
            return
        }
        #expect(try shelf.texts(log) == ["one"])
    }

    @Test func `a folder that is not there is said to be`() throws {
        let shelf = try Shelf()
        #expect(throws: LogTrouble.self) {
            try DirectoryLog(FilePath(shelf.folder.file("nowhere")), isWriting: false)
        }
    }

    @Test func `the check is that of zip and Ethernet`() { #expect(CRC32.of("123456789".utf8) == 0xCBF4_3926) }
}

@Suite struct DamagedFolderTests {
    private let shelf: Shelf

    init() throws { shelf = try Shelf() }

    @Test func `wherever the power cut the last batch, those before it are there and the next has its number`() throws {
        do {
            let log = try shelf.open()
            for number in 1...2 as ClosedRange<UInt64> { _ = try shelf.append(log, number, "batch \(number)") }
        }
        let whole = try Data(contentsOf: shelf.first).count
        do { _ = try shelf.append(try shelf.open(), 3, "batch 3") }
        let octets = try Data(contentsOf: shelf.first)
        for length in whole..<octets.count {
            try octets.prefix(length).write(to: shelf.first)
            #expect(try shelf.texts(try shelf.open(isWriting: false)) == ["batch 1", "batch 2"])
            let log = try shelf.open()
            #expect(try shelf.append(log, 4, "batch 4") == .success(.appended(offset: 3, isRepeat: false)))
            #expect(try shelf.texts(log) == ["batch 1", "batch 2", "batch 4"])
        }
    }

    @Test func `wherever the power cut a new file, what the one before it has is there`() throws {
        do {
            let log = try shelf.open(segmentOctetsMax: 1)
            for number in 1...2 as ClosedRange<UInt64> { _ = try shelf.append(log, number, "batch \(number)") }
        }
        let second = URL(fileURLWithPath: shelf.folder.file("batches-00000000000000000002.log"))
        for length in 0...8 {
            try Data(contentsOf: shelf.first).prefix(length).write(to: second)
            let log = try shelf.open(segmentOctetsMax: 1)
            #expect(try shelf.append(log, 3, "batch 3") == .success(.appended(offset: 2, isRepeat: false)))
            #expect(try shelf.texts(log) == ["batch 1", "batch 3"])
        }
    }

    @Test func `room that a file system made and did not fill is no batch`() throws {
        do { _ = try shelf.append(try shelf.open(), 1, "one") }
        try (Data(contentsOf: shelf.first) + Data(count: 100)).write(to: shelf.first)
        let log = try shelf.open()
        #expect(try shelf.texts(log) == ["one"])
        #expect(try shelf.append(log, 2, "two") == .success(.appended(offset: 2, isRepeat: false)))
        #expect(try shelf.texts(log) == ["one", "two"])
    }

    @Test func `whatever octet is changed, what is read is what was written, and the place is named`() throws {
        do {
            let log = try shelf.open()
            for number in 1...3 as ClosedRange<UInt64> { _ = try shelf.append(log, number, "batch \(number)") }
        }
        let octets = try Data(contentsOf: shelf.first)
        let size = (octets.count - 8) / 3
        for place in 0..<(octets.count - size) {
            var changed = octets
            changed[place] ^= 0x10
            try changed.write(to: shelf.first)
            let log = try shelf.open(isWriting: false)
            // Those before the damage are there.
            let before = place < 8 ? 0 : (place - 8) / size
            let found = before == 0 ? [] : try shelf.texts(log)
            #expect(found == (0..<before).map { "batch \($0 + 1)" })
            guard
                case .failure(.damaged(let path, _)) = try shelf.ask(
                    log, .readBatches(LogRange(from: UInt64(before) + 1)))
            else {
                Issue.record("a change of octet \(place) was not said")
                continue
            }
            #expect(path == shelf.first.path)
            // Nobody writes behind what is damaged.
            let trouble = #expect(throws: LogTrouble.self) { try shelf.open() }
            #expect(trouble?.description.contains("batches-00000000000000000001.log") == true)
        }
    }

    @Test func `a damage in an older file is said where it stands`() throws {
        do {
            let log = try shelf.open(segmentOctetsMax: 130)
            for number in 1...4 as ClosedRange<UInt64> { _ = try shelf.append(log, number, "batch \(number)") }
        }
        var octets = try Data(contentsOf: shelf.first)
        let size = (octets.count - 8) / 2
        octets[8 + size + 20] ^= 1
        try octets.write(to: shelf.first)
        let log = try shelf.open(isWriting: false)
        #expect(try shelf.texts(log) == ["batch 1"])
        guard case .failure(.damaged(let path, let matter)) = try shelf.ask(log, .readBatches(LogRange(from: 2))) else {
            Issue.record("the damage was not said")
            return
        }
        #expect(path == shelf.first.path)
        #expect(matter == "what stands at octet \(8 + size) is no record")
        #expect(try shelf.texts(log, from: 3) == ["batch 3", "batch 4"])
    }

    @Test func `a disk that is full says so, and what was half written is not there`() throws {
        let log = try shelf.open()
        _ = try shelf.append(log, 1, "one")
        shelf.files.partial = 5
        shelf.files.failures = [.write: .noSpace]
        guard case .failure(.full) = try shelf.append(log, 2, "two") else {
            Issue.record("a full disk was not said to be")
            return
        }
        shelf.files.failures = [:]
        #expect(try shelf.append(log, 2, "two") == .success(.appended(offset: 2, isRepeat: false)))
        #expect(try shelf.texts(log) == ["one", "two"])
    }

    @Test func `what may not be on the disk is not acknowledged, and nothing is written after it`() throws {
        let log = try shelf.open()
        _ = try shelf.append(log, 1, "one")
        shelf.files.failures = [.synchronize: .ioError]
        #expect(try shelf.append(log, 2, "two") == .failure(.unanswered(.zero)))
        shelf.files.failures = [:]
        guard case .failure(.unavailable) = try shelf.append(log, 3, "three") else {
            Issue.record("something was written behind what may not be there")
            return
        }
    }

    @Test func `what never became a whole snapshot goes when the folder is opened again`() throws {
        let name = SnapshotName(offset: 3, writer: try LogName("site-a"))
        do {
            let log = try shelf.open()
            _ = try shelf.ask(log, .writeSnapshot(SnapshotPiece(name, index: 0, isLast: true, octets: [1])))
            _ = try shelf.ask(log, .writeSnapshot(SnapshotPiece(name, index: 0, isLast: false, octets: [2])))
        }
        let pieces = {
            try FileManager.default.contentsOfDirectory(atPath: shelf.folder.path).filter { $0.hasPrefix("snapshot-") }
        }
        #expect(try pieces().count == 2)
        let log = try shelf.open()
        #expect(try pieces() == ["snapshot-1-0"])
        #expect(try shelf.ask(log, .readSnapshot(name, index: 0)) == .success(.piece([1])))
    }
}
