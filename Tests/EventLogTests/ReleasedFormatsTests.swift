import Foundation
import SystemPackage
import Testing

@testable import BeaconMonitoring
@testable import EventLog

/// Files of each released version must stay readable: event files, state, and the checkpoint of the publisher.
@Suite struct ReleasedFormatsTests {
    private static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Fixtures")

    /// Returns a copy of the files that a release wrote. Files and folders have the names that a gateway uses.
    private func folder(_ release: String) throws -> Folder {
        let folder = try Folder()
        for name in ["events", "state"] {
            try FileManager.default.copyItem(
                atPath: Self.fixtures.path + "/\(release)/\(name)", toPath: folder.path + "/" + name)
        }
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/events/current", withDestinationPath: try #require(folder.segments.last))
        return folder
    }

    @Test(arguments: [("version-0.2.0", 21, [7, 8] as [UInt16])])
    func `a gateway continues after the lines of a release, with the beacons that were present`(
        release: String, last: Int, there: [UInt16]
    ) throws {
        let folder = try folder(release)
        #expect(try folder.numbers == Array(1...last))
        do {
            let journal = try Journal(in: folder)
            #expect(journal.recovery.sequence == last)
            #expect(journal.recovery.damagedLines == 0)
            let snapshot = try #require(journal.recovery.snapshot)
            let staff = try #require(snapshot.conditions.first { $0.identifier == "staff" })
            #expect(staff.own.state == .satisfied)
            #expect(staff.beacons.compactMap(\.beacon?.minor).sorted() == there)
            let ada = try #require(snapshot.conditions.first { $0.identifier == "ada" })
            #expect(ada.own.state == .satisfied)
            journal.event(at: 0)
        }
        #expect(try folder.numbers == Array(1...last + 1))
        #expect(try Journal(in: folder).recovery.sequence == last + 1)
    }

    @Test(arguments: [("version-0.2.0", 15, 21)])
    func `a publisher continues after the last line that a release's publisher had published, and repeats none`(
        release: String, published: Int, last: Int
    ) throws {
        let folder = try folder(release)
        let checkpoint = try #require(
            try PublishingCheckpoint.read(FilePath(folder.path + "/state/" + PublishingCheckpoint.fileName)))
        #expect(checkpoint.position.sequence == published)
        var follower = LineFollower(FilePath(folder.path + "/events"), from: checkpoint.position)
        var (line, message): ([UInt8], LineMessage) = ([], LineMessage(prefix: "beacons"))
        var numbers: [Int] = []
        while try follower.next(into: &line, upTo: .max, &message) {
            if let number = message.sequence { numbers.append(number) }
        }
        #expect(numbers == Array(published + 1...last))
        #expect(follower.damaged == 0 && follower.missed == 0)
    }

    @Test(arguments: ["version-0.2.0"])
    func `the time until which a release's gateway was alive can be read`(release: String) throws {
        let folder = try folder(release)
        #expect(try AliveFile.read(in: FilePath(folder.path + "/events")) != nil)
    }
}
