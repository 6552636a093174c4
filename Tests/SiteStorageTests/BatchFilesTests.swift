import BaseTypes
import BrokerSupport
import Foundation
import SiteMonitoring
import SiteStorage
import SystemPackage
import TestSupport
import Testing

/// A directory in which batches are written, and which is opened repeatedly.
private final class BatchFolder {
    let folder: TestFolder
    let files = FailingFiles()
    var now = Instant(nanoseconds: 1_700_000_000_000_000_000)

    init() throws { folder = try TestFolder() }

    func open(isWriting: Bool = true, fileBytesMax: Int = 64 << 20) throws(SiteLogError) -> BatchFiles {
        try BatchFiles(FilePath(folder.path), isWriting: isWriting, fileBytesMax: fileBytesMax, files: files)
    }

    /// Writes a batch and flushes it.
    @discardableResult
    func append(_ batches: BatchFiles, _ text: String) throws(SiteLogError) -> UInt64 {
        now = now + .seconds(1)
        let number = try batches.append(Array(text.utf8), stored: now)
        try batches.synchronize()
        return number
    }

    /// Writes batches 1 to `count` and closes the directory.
    func write(_ count: Int, fileBytesMax: Int = 64 << 20) throws {
        let batches = try open(fileBytesMax: fileBytesMax)
        for number in 1...count { try append(batches, "batch \(number)") }
    }

    func texts(_ batches: BatchFiles, from: UInt64 = 1) throws(SiteLogError) -> [String] {
        try batches.page(LogRange(from: from)).entries.map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    /// Returns the error of a call, which must throw one.
    func siteError(_ body: () throws(SiteLogError) -> Void) throws -> SiteLogError {
        do throws(SiteLogError) { try body() } catch { return error }
        throw TimeoutError(description: "no error was thrown")
    }

    var first: URL { URL(fileURLWithPath: folder.file("batches-00000000000000000001.log")) }
}

@Suite struct BatchFilesTests {
    private let batchFolder: BatchFolder

    init() throws { batchFolder = try BatchFolder() }

    @Test(arguments: [64 << 20, 60]) func `batches are read with their numbers, times and bytes, also after a restart`(
        _ fileBytesMax: Int
    ) throws {
        try batchFolder.write(3, fileBytesMax: fileBytesMax)
        let start = batchFolder.now + .seconds(-2)
        let batches = try batchFolder.open(fileBytesMax: fileBytesMax)
        #expect((batches.first, batches.last) == (1, 3))
        #expect(try batchFolder.append(batches, "") == 4)
        let page = try batches.page(LogRange(from: 1))
        #expect((page.first, page.last) == (1, 4))
        #expect(page.entries.map(\.number) == [1, 2, 3, 4])
        #expect(page.entries.map(\.stored) == (0...3).map { start + .seconds($0) })
        #expect(
            page.entries.map { String(decoding: $0.bytes, as: UTF8.self) } == ["batch 1", "batch 2", "batch 3", ""])
        #expect(try batchFolder.texts(batchFolder.open(isWriting: false)) == ["batch 1", "batch 2", "batch 3", ""])
    }

    @Test(arguments: [64 << 20, 1]) func `a page stays within its range and its limits`(_ fileBytesMax: Int) throws {
        try batchFolder.write(6, fileBytesMax: fileBytesMax)
        let batches = try batchFolder.open(isWriting: false)
        func numbers(_ range: LogRange) throws -> [UInt64] { try batches.page(range).entries.map(\.number) }
        #expect(try numbers(LogRange(from: 3, countMax: 2)) == [3, 4])
        #expect(try numbers(LogRange(from: 5, countMax: 9)) == [5, 6])
        // Each batch has 7 bytes: the third does not fit, by one byte.
        #expect(try numbers(LogRange(from: 1, bytesMax: 20)) == [1, 2])
        #expect(try numbers(LogRange(from: 1, bytesMax: 21)) == [1, 2, 3])
        // At least one batch is always read, or a reader would never continue.
        #expect(try numbers(LogRange(from: 2, bytesMax: 0)) == [2])
        #expect(try batches.page(LogRange(from: 7)) == LogPage(entries: [], first: 1, last: 6))
        // An older file is read again, after another one was read.
        #expect(try numbers(LogRange(from: 1, countMax: 1)) == [1])
    }

    @Test func `an empty directory has no batches`() throws {
        #expect(try batchFolder.open().page(LogRange(from: 1)) == LogPage(entries: [], first: 1, last: 0))
    }

    @Test func `a batch of 8 MiB is written, and a larger one is refused`() throws {
        let batches = try batchFolder.open()
        let largest = Array(repeating: UInt8(7), count: 8 << 20)
        #expect(try batches.append(largest, stored: batchFolder.now) == 1)
        let error = SiteLogError.tooBig("a batch", bytes: (8 << 20) + 1, most: 8 << 20)
        #expect(throws: error) { try batches.append(largest + [7], stored: batchFolder.now) }
        #expect(try batches.page(LogRange(from: 1)).entries.map(\.bytes) == [largest])
    }

    @Test func `only one process can write in a directory, and others can read`() throws {
        let batches = try batchFolder.open()
        try batchFolder.append(batches, "one")
        let error = try batchFolder.siteError { () throws(SiteLogError) in _ = try batchFolder.open() }
        #expect(error.description.contains("lock is held by another process (a site's log, process "), "\(error)")
        let reader = try batchFolder.open(isWriting: false)
        #expect(try batchFolder.texts(reader) == ["one"])
        let refusal = SiteLogError.refused("\(batchFolder.folder.path) was opened for reading")
        #expect(throws: refusal) { try reader.append([1], stored: batchFolder.now) }
        #expect(try batchFolder.texts(batches) == ["one"])
    }

    @Test(arguments: ["00000000000000000000", "18446744073709551615", "09223372036854775808", "1", "x"])
    func `a file with an impossible number is ignored`(_ number: String) throws {
        try batchFolder.write(1)
        try Data(contentsOf: batchFolder.first).write(
            to: URL(fileURLWithPath: batchFolder.folder.file("batches-\(number).log")))
        let batches = try batchFolder.open()
        #expect(try batchFolder.append(batches, "two") == 2)
        #expect(try batchFolder.texts(batches) == ["batch 1", "two"])
    }

    @Test func `the error for a directory that does not exist names it`() throws {
        let path = batchFolder.folder.file("nowhere")
        let error = try batchFolder.siteError { () throws(SiteLogError) in
            _ = try BatchFiles(FilePath(path), isWriting: false)
        }
        #expect(error.description.contains("\(path) cannot be read"), "\(error)")
    }

    @Test func `the checksum is the CRC-32 of zip and Ethernet`() { #expect(CRC32.of("123456789".utf8) == 0xCBF4_3926) }
}

@Suite struct DamagedBatchFilesTests {
    private let batchFolder: BatchFolder

    init() throws { batchFolder = try BatchFolder() }

    @Test func `wherever a power cut ends the last batch, those before it remain and the next has its number`() throws {
        try batchFolder.write(2)
        let whole = try Data(contentsOf: batchFolder.first).count
        do { try batchFolder.append(batchFolder.open(), "batch 3") }
        let bytes = try Data(contentsOf: batchFolder.first)
        for length in whole..<bytes.count {
            try bytes.prefix(length).write(to: batchFolder.first)
            #expect(try batchFolder.texts(batchFolder.open(isWriting: false)) == ["batch 1", "batch 2"])
            let batches = try batchFolder.open()
            #expect(try batchFolder.append(batches, "batch 4") == 3)
            #expect(try batchFolder.texts(batches) == ["batch 1", "batch 2", "batch 4"])
        }
    }

    @Test func `wherever a power cut ends a new file, the batches of the file before it remain`() throws {
        try batchFolder.write(2, fileBytesMax: 1)
        let second = URL(fileURLWithPath: batchFolder.folder.file("batches-00000000000000000002.log"))
        for length in 0...8 {
            try Data(contentsOf: batchFolder.first).prefix(length).write(to: second)
            let batches = try batchFolder.open(fileBytesMax: 1)
            #expect(try batchFolder.append(batches, "batch 3") == 2)
            #expect(try batchFolder.texts(batches) == ["batch 1", "batch 3"])
        }
    }

    @Test func `zeros that a file system left at the end of a file are not a batch`() throws {
        try batchFolder.write(1)
        try (Data(contentsOf: batchFolder.first) + Data(count: 100)).write(to: batchFolder.first)
        let batches = try batchFolder.open()
        #expect(try batchFolder.texts(batches) == ["batch 1"])
        #expect(try batchFolder.append(batches, "two") == 2)
        #expect(try batchFolder.texts(batches) == ["batch 1", "two"])
    }

    @Test func `if any byte is changed, only batches before it are read, and the error names the file`() throws {
        try batchFolder.write(3)
        let bytes = try Data(contentsOf: batchFolder.first)
        let size = (bytes.count - 8) / 3
        for place in 0..<(bytes.count - size) {
            var changed = bytes
            changed[place] ^= 0x10
            try changed.write(to: batchFolder.first)
            let batches = try batchFolder.open(isWriting: false)
            let before = place < 8 ? 0 : (place - 8) / size
            let found = before == 0 ? [] : try batchFolder.texts(batches)
            #expect(found == (0..<before).map { "batch \($0 + 1)" })
            let error = try batchFolder.siteError { () throws(SiteLogError) in
                _ = try batches.page(LogRange(from: UInt64(before) + 1))
            }
            guard case .damaged(batchFolder.first.path, _) = error else {
                Issue.record("byte \(place) was changed: \(error)")
                continue
            }
            // Nothing is written after the damage.
            let refusal = try batchFolder.siteError { () throws(SiteLogError) in _ = try batchFolder.open() }
            #expect(refusal.description.contains("batches-00000000000000000001.log"), "\(refusal)")
        }
    }

    @Test func `damage in an older file is reported with its place, and later files are read`() throws {
        try batchFolder.write(4, fileBytesMax: 70)
        var bytes = try Data(contentsOf: batchFolder.first)
        let size = (bytes.count - 8) / 2
        bytes[8 + size + 20] ^= 1
        try bytes.write(to: batchFolder.first)
        let batches = try batchFolder.open(isWriting: false)
        #expect(try batchFolder.texts(batches) == ["batch 1"])
        let error = SiteLogError.damaged(batchFolder.first.path, "there is no valid record at byte \(8 + size)")
        #expect(throws: error) { try batches.page(LogRange(from: 2)) }
        #expect(try batchFolder.texts(batches, from: 3) == ["batch 3", "batch 4"])
    }

    @Test func `a full disk is an error, and the incomplete batch is removed`() throws {
        let batches = try batchFolder.open()
        try batchFolder.append(batches, "one")
        let whole = try Data(contentsOf: batchFolder.first)
        batchFolder.files.partial = 5
        batchFolder.files.failures = [.write: .noSpace]
        guard
            case .full = try batchFolder.siteError({ () throws(SiteLogError) in try batchFolder.append(batches, "two") }
            )
        else {
            Issue.record("the error is not that of a full disk")
            return
        }
        #expect(try Data(contentsOf: batchFolder.first) == whole)
        batchFolder.files.failures = [:]
        #expect(try batchFolder.append(batches, "two") == 2)
        #expect(try batchFolder.texts(batches) == ["one", "two"])
    }

    @Test func `if an incomplete batch cannot be removed, nothing is written until the directory is opened again`()
        throws
    {
        do {
            let batches = try batchFolder.open()
            try batchFolder.append(batches, "one")
            batchFolder.files.partial = 20
            batchFolder.files.failures = [.write: .noSpace, .truncate: .ioError]
            _ = try batchFolder.siteError { () throws(SiteLogError) in try batchFolder.append(batches, "a long batch") }
            batchFolder.files.failures = [:]
            let error = try batchFolder.siteError { () throws(SiteLogError) in try batchFolder.append(batches, "2") }
            #expect(error.description.contains("ends with an incomplete batch"), "\(error)")
            #expect(try batchFolder.texts(batches) == ["one"])
        }
        let batches = try batchFolder.open()
        #expect(try batchFolder.append(batches, "2") == 2)
        #expect(try batchFolder.texts(batchFolder.open(isWriting: false)) == ["one", "2"])
    }

    @Test func `a new file never replaces one that another program put there`() throws {
        let batches = try batchFolder.open(fileBytesMax: 1)
        try batchFolder.append(batches, "one")
        let path = batchFolder.folder.file("batches-00000000000000000002.log")
        try Data("not ours".utf8).write(to: URL(fileURLWithPath: path))
        _ = try batchFolder.siteError { () throws(SiteLogError) in try batchFolder.append(batches, "two") }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("not ours".utf8))
    }

    @Test func `a page ends before a batch that was damaged after the directory was opened`() throws {
        try batchFolder.write(3)
        let batches = try batchFolder.open(isWriting: false)
        var bytes = try Data(contentsOf: batchFolder.first)
        bytes[bytes.count - 1] ^= 1
        try bytes.write(to: batchFolder.first)
        #expect(try batchFolder.texts(batches) == ["batch 1", "batch 2"])
        guard
            case .damaged = try batchFolder.siteError({ () throws(SiteLogError) in
                _ = try batches.page(LogRange(from: 3))
            })
        else {
            Issue.record("the error is not that of damage")
            return
        }
    }

    @Test(arguments: [FailingFiles.Call.open, .write, .synchronize, .synchronizeDirectory])
    func `if a new file cannot be created, the next append creates it`(_ call: FailingFiles.Call) throws {
        let batches = try batchFolder.open(fileBytesMax: 1)
        try batchFolder.append(batches, "one")
        batchFolder.files.failures = [call: .ioError]
        guard
            case .unavailable = try batchFolder.siteError({ () throws(SiteLogError) in
                try batchFolder.append(batches, "two")
            })
        else {
            Issue.record("the error is not that of the disk")
            return
        }
        batchFolder.files.failures = [:]
        #expect(try batchFolder.append(batches, "two") == 2)
        #expect(try batchFolder.texts(batches) == ["one", "two"])
    }

    @Test func `after a failed flush, nothing is written`() throws {
        let batches = try batchFolder.open()
        try batchFolder.append(batches, "one")
        batchFolder.files.failures = [.synchronize: .ioError]
        let error = try batchFolder.siteError { () throws(SiteLogError) in try batchFolder.append(batches, "two") }
        #expect(error.description.contains("cannot be flushed to the disk"), "\(error)")
        batchFolder.files.failures = [:]
        #expect(throws: error) { try batches.append([3], stored: batchFolder.now) }
        #expect(throws: error) { try batches.synchronize() }
    }
}
