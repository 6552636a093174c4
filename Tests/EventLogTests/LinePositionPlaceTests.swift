import Foundation
import JSON
import SystemPackage
import TestSupport
import Testing

@testable import EventLog

/// The place of a position is found by binary search, and must lead to the same lines as reading all files.
@Suite struct LinePositionPlaceTests {
    /// Returns a folder of segments whose lines have these numbers. After each numbered line is one without a number.
    private func folder(_ segments: [[Int]]) throws -> Folder {
        let folder = try Folder()
        try FileManager.default.createDirectory(atPath: folder.path + "/events", withIntermediateDirectories: true)
        let sample = try Sample.line(.event(Sample.event(at: 0)))
        for numbers in segments {
            let first = numbers.first ?? 0
            let name = "events-\(String(repeating: "0", count: 12 - "\(first)".count))\(first)-20261121T000000Z.jsonl"
            let text = numbers.map { number in
                sample.replacing(/"sequence":\d+/, with: "\"sequence\":\(number)") + "\n"
                    + sample.replacing(/"sequence":\d+,/, with: "").replacing("\"event\"", with: "\"ranging\"") + "\n"
            }.joined()
            try folder.write("events/" + name, text)
        }
        return folder
    }

    private func numbers(_ folder: Folder, from position: LinePosition) throws -> [Int] {
        var follower = LineFollower(FilePath(folder.path + "/events"), from: position)
        var (line, message): ([UInt8], LineMessage) = ([], LineMessage(prefix: ""))
        var numbers: [Int] = []
        while try follower.next(into: &line, upTo: .max, &message) {
            if let number = message.sequence { numbers.append(number) }
        }
        return numbers
    }

    @Test func `from a place that was found, the lines after the number are read, as from the start`() throws {
        let folder = try folder([Array(1...700), Array(701...1400), Array(1450...2000)])
        let directory = FilePath(folder.path + "/events")
        let all = Array(1...1400) + Array(1450...2000)
        for sequence in [0, 1, 2, 350, 699, 700, 701, 702, 1000, 1399, 1400, 1425, 1449, 1450, 1700, 1999, 2000, 3000] {
            let position = LinePosition(sequence: sequence).placed(in: directory)
            #expect(position.sequence == sequence)
            #expect(try numbers(folder, from: position) == all.filter { $0 > sequence }, "\(sequence)")
        }
    }

    @Test func `a place is found with few reads, less than a quarter of a large segment`() throws {
        let folder = try folder([Array(1...20_000)])
        let files = FailingFiles()
        let position = LinePosition(sequence: 15_000).placed(in: FilePath(folder.path + "/events"), files: files)
        #expect(position.offset > 0)
        let size = try files.size(of: files.openForReading(FilePath(folder.path + "/events/" + folder.segments[0])))
        #expect(size > 10 << 20)
        #expect(files.bytesRead < size / 4)
        #expect(try numbers(folder, from: position).first == 15_001)
    }

    @Test func `if numbers do not increase, or files cannot be read, the place is lost, but no line`() throws {
        let folder = try folder([Array(1...600) + [7, 8] + Array(601...1200)])
        let directory = FilePath(folder.path + "/events")
        for sequence in [5, 300, 599, 600, 601, 900] {
            let position = LinePosition(sequence: sequence).placed(in: directory)
            #expect(try numbers(folder, from: position) == Array(sequence + 1...1200), "\(sequence)")
        }
        let nowhere = LinePosition(sequence: 7).placed(in: FilePath(folder.path + "/nothing"))
        #expect(nowhere == LinePosition(sequence: 7))
    }
}
