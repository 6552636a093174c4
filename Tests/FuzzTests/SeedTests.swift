import Foundation
import TestSupport
import Testing

@testable import FuzzTargets

/// Each fuzz target reads its own seeds. If a target finds a contradiction, it ends the process with a message.
@Suite struct SeedTests {
    /// The folder of the seeds. The script of the fuzzer writes it.
    private static let seeds = Result { () throws -> URL in
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("seeds-\(UUID())")
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Tools/Fuzz/run")
        let status = try SpawnedProcess(script.path, ["seeds", folder.path]).wait()
        try #require(status == 0, "\(script.path) failed with \(status)")
        return folder.appendingPathComponent("corpus")
    }

    @Test(arguments: Target.allCases) func `a target reads 3 or more seeds and keeps at least 1`(target: Target)
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
