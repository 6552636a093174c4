import BrokerSupport
import EventLog
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import MQTTPublisher

/// The checkpoint on the disk, which is the position up to which lines were published.
@Suite struct CheckpointKeeperTests {
    private static func window(_ count: Int, of capacity: Int) -> PublishingWindow {
        var window = PublishingWindow(after: LinePosition(sequence: 0), capacity: capacity)
        for number in 1...count { window.setAside(LinePosition(sequence: number)) }
        return window
    }

    @Test func `a stored checkpoint can be read again, and unchanged values need not be stored again`() throws {
        let folder = try TestFolder()
        let path = FilePath(folder.file("mqtt.json"))
        var keeper = CheckpointKeeper(path, five: nil, FailingFiles())
        var window = Self.window(7, of: 10)
        #expect(keeper.isStale(window))
        try keeper.keep(&window)
        #expect(!keeper.isStale(window) && window.unstoredCount == 0)
        let areNew = [keeper.note(five: "broker:1883"), keeper.note(five: "broker:1883")]
        #expect(areNew == [true, false])
        #expect(keeper.isStale(window))
        try keeper.keep(&window)
        let stored = try PublishingCheckpoint.read(path)
        #expect(stored?.position.sequence == 7 && stored?.five == "broker:1883")
    }

    @Test func `if storing fails, the error states the limit of lines, then that publishing stopped`() throws {
        let folder = try TestFolder()
        let files = FailingFiles()
        files.failures[.rename] = .readOnlyFileSystem
        var keeper = CheckpointKeeper(FilePath(folder.file("mqtt.json")), five: nil, files)
        var window = Self.window(9, of: 10)
        #expect(keeper.failure(window) == nil)
        #expect(throws: Errno.readOnlyFileSystem) { try keeper.keep(&window) }
        #expect(window.unstoredCount == 9)
        #expect(keeper.failure(window)?.hasSuffix("at most 10 lines are sent until it can") == true)
        window.setAside(LinePosition(sequence: 10))
        #expect(
            keeper.failure(window)?.hasSuffix("10 lines were sent after it, and publishing has stopped until it can")
                == true)
        files.failures = [:]
        try keeper.keep(&window)
        #expect(keeper.failure(window) == nil)
    }
}
