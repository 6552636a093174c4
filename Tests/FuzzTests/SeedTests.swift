import Foundation
import TestSupport
import Testing

@testable import FuzzTargets

/// Each target of the fuzzer reads its own seeds. A target that finds a contradiction ends the process with its message.
@Suite struct SeedTests {
    /// The folder of the seeds, which the fuzzer's own script writes.
    private static let seeds = Result { () throws -> URL in
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("seeds-\(UUID())")
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Tools/Fuzz/run")
        let status = try SpawnedProcess(script.path, ["seeds", folder.path]).wait()
        try #require(status == 0, "\(script.path) failed with \(status)")
        return folder.appendingPathComponent("corpus")
    }

    @Test(arguments: Target.allCases) func `a target reads each of its seeds, and keeps one at least`(target: Target)
        throws
    {
        let folder = try Self.seeds.get().appendingPathComponent(target.rawValue)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        var kept = 0
        for file in files where target.run([UInt8](try Data(contentsOf: file)).span) { kept += 1 }
        #expect(files.count >= 3)
        #expect(kept > 0)
    }
}
