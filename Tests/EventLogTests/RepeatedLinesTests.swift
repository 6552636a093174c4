import Foundation
import SystemPackage
import Testing

@testable import BeaconMonitoring
@testable import EventLog

/// Lines that are in the files twice are returned once, and other lines are not treated as copies.
@Suite struct RepeatedLinesTests {
    /// Returns a folder of several segments, with `count` events.
    private func written(_ count: Int) throws -> Folder {
        let folder = try Folder()
        let journal = try Journal(in: folder) { $0.rotateSize = 4000 }
        for second in 0..<count { journal.event(at: second) }
        try #require(folder.segments.count > 3)
        return folder
    }

    private func read(_ places: [String]) throws -> (numbers: [Int], repeated: Int) {
        var reader = try LogReader(places.map { FilePath($0) })
        var numbers: [Int] = []
        try reader.read([.event]) { line in
            numbers.append(line.sequence ?? 0)
            return true
        }
        return (numbers, reader.repeatedLines)
    }

    @Test func `the copy of a segment is read once, wherever its name is in the order`() throws {
        for number in [1, 9, 900] {
            let folder = try written(40)
            let copy = SegmentDirectory.segmentName(
                first: number, date: WallDate(microseconds: 1_795_219_200_000_000 + 7_000_000))
            let original = try folder.read("events/" + folder.segments[1])
            try folder.write("events/" + copy, original)
            let (numbers, repeated) = try read([folder.path + "/events"])
            #expect(numbers.sorted() == Array(1...40))
            #expect(repeated == original.split(separator: "\n").count)
        }
    }

    @Test func `a file that is given twice, and one that contains each line twice, are read once`() throws {
        let folder = try written(40)
        let file = folder.path + "/events/" + folder.segments[0]
        let first = try read([file])
        #expect(first.repeated == 0 && !first.numbers.isEmpty)
        let twice = try read([file, file])
        #expect(twice.numbers == first.numbers && twice.repeated == first.numbers.count)
        let text = try folder.read("events/" + folder.segments[0])
        try folder.write("both", text + text)
        let both = try read([folder.path + "/both"])
        #expect(both.numbers == first.numbers && both.repeated == first.numbers.count)
    }

    @Test func `segments that exchanged their names lose no line`() throws {
        let folder = try written(40)
        let (left, right) = ("events/" + folder.segments[0], "events/" + folder.segments[2])
        let texts = (try folder.read(left), try folder.read(right))
        try folder.write(left, texts.1)
        try folder.write(right, texts.0)
        let (numbers, repeated) = try read([folder.path + "/events"])
        #expect(numbers.sorted() == Array(1...40) && repeated == 0)
    }

    @Test func `a line with a damaged number does not hide the line that has this number`() throws {
        let folder = try written(40)
        let name = "events/" + folder.segments[0]
        try folder.write(name, try folder.read(name).replacing("\"sequence\":2,", with: "\"sequence\":39,"))
        let (numbers, repeated) = try read([folder.path + "/events"])
        #expect(repeated == 0)
        #expect(numbers.count == 40 && numbers.count { $0 == 39 } == 2)
    }

    @Test func `lines of a replay, which have no boot, are read as often as they are in the files`() throws {
        let folder = try written(40)
        let text = try folder.read("events/" + folder.segments[0]).replacing(#/"boot":"[^"]*",/#, with: "")
        try folder.write("replayed", text + text)
        let (numbers, repeated) = try read([folder.path + "/replayed"])
        #expect(repeated == 0 && numbers.count == 2 * text.split(separator: "\n").count)
    }
}
