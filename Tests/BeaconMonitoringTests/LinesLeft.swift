import Foundation
import JSON
import SystemPackage
import TestSupport

@testable import BeaconMonitoring
@testable import EventLog

/// The lines that are in the event files after a crash or a power cut.
struct LinesLeft {
    private(set) var numbers: Set<Int> = []
    /// The number of the first line that exists. Earlier lines were deleted because of their age.
    private(set) var first = Int.max
    private(set) var last = 0

    /// Reads each line of each file. Each line must be as expected and in order, and each durable line must exist.
    ///
    /// There can be holes in lines that were not durable. A complete line after a hole is not removed.
    ///
    /// - Parameters:
    ///   - disk: the disk with the files.
    ///   - directory: the folder of the files.
    ///   - lines: the expected text of each line, by its number.
    ///   - durable: the number of the last durable line.
    ///   - mayHaveHoles: whether the power was cut.
    /// - Throws: ``RestartFixture/Failure``.
    init(
        on disk: SimulatedDisk, in directory: FilePath, expecting lines: [Int: String], durable: Int, mayHaveHoles: Bool
    ) throws {
        for name in disk.list("\(directory)") {
            guard let segment = Segment(name: name), let bytes = disk.contents("\(directory)/\(name)") else {
                continue
            }
            guard bytes.isEmpty || bytes.last == 0x0A || mayHaveHoles else {
                throw RestartFixture.Failure(description: "\(name) ends in the middle of a line")
            }
            if segment.first <= last { throw RestartFixture.Failure(description: "\(name) follows line \(last)") }
            first = min(first, segment.first)
            last = max(last, segment.first - 1)
            // A last line without its line end does not count.
            let end = bytes.lastIndex(of: 0x0A) ?? 0
            for line in bytes[..<end].split(separator: 0x0A) {
                var parser = LineParser()
                parser.text = JSONText(Array(line[(line.lastIndex(of: 0).map { $0 + 1 } ?? line.startIndex)...]))
                guard parser.parse(), parser.passedOver == 0, let number = parser.head.sequence else {
                    // A hole after a power cut stays in the file.
                    if mayHaveHoles { continue }
                    throw RestartFixture.Failure(description: "not a line: \(String(decoding: line, as: UTF8.self))")
                }
                guard number > last else {
                    throw RestartFixture.Failure(description: "line \(number) follows line \(last)")
                }
                guard lines[number] == String(decoding: parser.text.bytes, as: UTF8.self) + "\n" else {
                    throw RestartFixture.Failure(
                        description: "line \(number) is \(String(decoding: line, as: UTF8.self)), expected "
                            + "\(lines[number] ?? "none")")
                }
                numbers.insert(number)
                last = number
            }
        }
        if let lost = lines.keys.filter({ $0 <= durable && !contains($0) }).min() {
            throw RestartFixture.Failure(description: "line \(lost) was durable, and is not in the files")
        }
    }

    /// Returns whether a line exists, or was deleted because of its age.
    func contains(_ number: Int) -> Bool { number < first ? number <= last : numbers.contains(number) }
}
