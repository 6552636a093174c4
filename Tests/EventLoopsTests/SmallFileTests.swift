import EventLoops
import Foundation
import SystemPackage
import Testing

@Suite struct SmallFileTests {
    @Test func `a file is replaced completely, and no other file is left`() throws {
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("small-\(UUID())")
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        let path = directory.appending("record")
        #expect(SmallFile.text(of: path) == nil)
        try SmallFile.replace(path, with: "one\n")
        try SmallFile.replace(path, with: "two\n")
        #expect(SmallFile.text(of: path) == "two\n")
        #expect(SmallFile.value(of: path) == "two")
        #expect(SmallFile.names(in: directory).map { Set($0) } == ["record"])
        #expect(SmallFile.inode(of: path) != nil)
        SmallFile.remove(path)
        #expect(SmallFile.inode(of: path) == nil)
        #expect(!SmallFile.exists(path) && SmallFile.isDirectory(directory))
        #expect(throws: Errno.noSuchFileOrDirectory) {
            try SmallFile.replace(directory.appending("none/record"), with: "")
        }
    }

    @Test(arguments: [0, 1, 4095, 4096, 4097, 9000])
    func `a file is read up to the maximum size`(size: Int) throws {
        let path = FilePath(FileManager.default.temporaryDirectory.path).appending("small-\(UUID())")
        defer { SmallFile.remove(path) }
        try SmallFile.replace(path, with: String(repeating: "a", count: size))
        #expect(try SmallFile.read(path, maximum: 4096).count == min(size, 4096))
        #expect(try SmallFile.read(path, maximum: 10_000).count == size)
        // Files in /proc have the size 0, but they must be read up to the maximum too.
        #expect(try SmallFile.read("/proc/self/status", maximum: 10).count == 10)
    }

    @Test func `the target of a link is returned, and nil for a file that is not a link`() {
        #expect(SmallFile.target(of: "/proc/self/exe")?.hasPrefix("/") == true)
        #expect(SmallFile.target(of: "/proc/self/status") == nil)
    }
}
