import Foundation
import SystemPackage
import Testing

@testable import BeaconMonitoring
@testable import EventLog

@Suite struct SegmentTests {
    /// A folder for one test. It is deleted with this value.
    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("events-\(UUID().uuidString)").path
        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    @Test(arguments: [
        (1, 1_612_150_079_789_349, "events-000000000001-20210201T032759Z.jsonl"),
        (0, 0, "events-000000000000-19700101T000000Z.jsonl"),
        (999_999_999_999, 9_000_000_000_000_000, "events-999999999999-22550314T160000Z.jsonl"),
    ])
    func `a segment is named by its first number and its start`(first: Int, microseconds: Int64, name: String) {
        #expect(SegmentDirectory.segmentName(first: first, date: WallDate(microseconds: microseconds)) == name)
    }

    @Test func `lines are written completely, and current links to their segment`() throws {
        let folder = Folder()
        let directory = try SegmentDirectory(empty: FilePath(folder.path))
        var output = try directory.open(first: 1, date: WallDate(microseconds: 0))
        output.buffer.append("{}\n")
        try output.flushIfFull()
        let current = folder.path + "/current"
        #expect(try Data(contentsOf: URL(fileURLWithPath: current)).isEmpty)
        try output.flush()
        try output.flush()
        #expect(try Data(contentsOf: URL(fileURLWithPath: current)) == Data("{}\n".utf8))
        #expect(
            try FileManager.default.destinationOfSymbolicLink(atPath: current)
                == "events-000000000001-19700101T000000Z.jsonl")
    }

    @Test func `a folder that is not empty is refused`() throws {
        let folder = Folder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: false)
        _ = try SegmentDirectory(empty: FilePath(folder.path))
        try Data().write(to: URL(fileURLWithPath: folder.path + "/.hidden"))
        #expect(throws: EventLogError.directoryNotEmpty(folder.path)) {
            try SegmentDirectory(empty: FilePath(folder.path))
        }
    }

    @Test func `an error has the path of the file that cannot be created or written`() throws {
        #expect(throws: EventLogError.createFailed("/nonexistent/x", .noSuchFileOrDirectory)) {
            try SegmentDirectory(empty: "/nonexistent/x")
        }
        #expect(throws: EventLogError.createFailed("/dev/null", .fileExists)) {
            _ = try LineOutput(creating: "/dev/null").name
        }
        let error = EventLogError.writeFailed("x", .noSpace)
        #expect(error.description == "x can't be written to: No space left on device")
    }
}
