import Foundation

extension Scratch {
    /// Writes a folder with the lines of a writer in one event file, and a file `alive` if its content is given.
    /// Returns its path.
    package func folder(_ writer: LineWriter, alive: String? = nil, name: String = "events") throws -> String {
        let path = path(name)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data(writer.lines.map { $0 + "\n" }.joined().utf8).write(
            to: URL(fileURLWithPath: path + "/events-000000000001-20261121T000000Z.jsonl"))
        if let alive { try Data(alive.utf8).write(to: URL(fileURLWithPath: path + "/alive")) }
        return path
    }

    /// Writes such a folder of a gateway that was alive until a time on the writer's timeline.
    package func folder(_ writer: LineWriter, aliveAt time: Double?, name: String = "events") throws -> String {
        try folder(writer, alive: time.map { writer.alive($0) }, name: name)
    }
}

/// Returns a number of a JSON object; `nil` if there is none.
package func number(_ row: [String: Any]?, _ key: String) -> Double? { (row?[key] as? NSNumber)?.doubleValue }
