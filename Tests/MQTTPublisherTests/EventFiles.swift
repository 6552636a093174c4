import EventLog
import Foundation
import SystemPackage

/// A folder of event files as a gateway writes them, but without a gateway.
final class EventFiles {
    let path: String
    private(set) var sequence = 0
    private var handle: FileHandle?
    private let linesPerSegment: Int

    init(_ path: String, linesPerSegment: Int = 5000) throws {
        self.path = path
        self.linesPerSegment = linesPerSegment
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// Returns one line, without its line feed.
    static func line(_ sequence: Int, topic: String = "beacons/lobby/event/staff") -> String {
        """
        {"topic":"\(topic)","qos":1,"retain":false,"payload":{"version":2,"type":"event","gateway":"lobby",\
        "boot":"aaaaaaaa-00000001","sequence":\(sequence),"monitor":"site","identifier":"staff","scope":"beacon",\
        "state":"\(sequence % 2 == 1 ? "satisfied" : "unsatisfied")","date":"2026-11-21T07:46:27.123456Z",\
        "time":1795247187123,"monotonic":8020980000,"condition":{"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E"},\
        "refinement":{"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":100,"minor":7},\
        "lastSeen":"2026-11-21T07:46:27.123456Z","diagnostics":[]}}
        """
    }

    func append(_ count: Int, topic: String = "beacons/lobby/event/staff") throws { try append(count) { _ in topic } }

    /// Appends lines whose topics depend on their sequence numbers.
    func append(_ count: Int, topic: (Int) -> String) throws {
        var left = count
        while left > 0 {
            if handle == nil || sequence % linesPerSegment == 0 { try open() }
            let part = min(left, linesPerSegment - sequence % linesPerSegment, 1000)
            var text = ""
            for _ in 0..<part {
                sequence += 1
                text += Self.line(sequence, topic: topic(sequence)) + "\n"
            }
            try handle?.write(contentsOf: Data(text.utf8))
            left -= part
        }
    }

    private func open() throws {
        let name = String(format: "events-%012d-20261121T074627Z.jsonl", sequence + 1)
        _ = FileManager.default.createFile(atPath: path + "/" + name, contents: nil)
        handle = FileHandle(forWritingAtPath: path + "/" + name)
    }
}
