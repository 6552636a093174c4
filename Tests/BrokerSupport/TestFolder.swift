import Foundation

/// A folder for the files of one test. It is deleted when this value is released.
package final class TestFolder {
    package let path = FileManager.default.temporaryDirectory.path + "/mqtt-\(UUID().uuidString.prefix(8))"

    package init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    package func file(_ name: String) -> String { path + "/" + name }

    @discardableResult package func write(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }
}
