import Foundation
import JSON
import SystemPackage
import TestSupport

@testable import BeaconMonitoring
@testable import EventLog

/// The lines that are in the files after a death.
struct LinesLeft {
    private(set) var numbers: Set<Int> = []
    /// The first that has not been deleted for its age.
    private(set) var first = Int.max
    private(set) var last = 0

    /// Reads every line of every file: each is what it had to be, in order, and all that was durable is there.
    ///
    /// What was not durable may have holes: no whole line behind one is taken back.
    ///
    /// - Parameters:
    ///   - disk: where the files are.
    ///   - directory: their folder.
    ///   - lines: the text of each line by its number, as it had to be.
    ///   - durable: the number of the last line that was durable.
    ///   - mayHaveHoles: whether the power was cut.
    /// - Throws: ``RestartWorld/Failure``.
    init(
        on disk: SimulatedDisk, in directory: FilePath, expecting lines: [Int: String], durable: Int, mayHaveHoles: Bool
    ) throws {
        for name in disk.list("\(directory)") {
            guard let segment = Segment(name: name), let bytes = disk.contents("\(directory)/\(name)") else {
                continue
            }
            guard bytes.isEmpty || bytes.last == 0x0A || mayHaveHoles else {
                throw RestartWorld.Failure(description: "\(name) ends in the middle of a line")
            }
            if segment.first <= last { throw RestartWorld.Failure(description: "\(name) follows line \(last)") }
            first = min(first, segment.first)
            last = max(last, segment.first - 1)
            for line in bytes.split(separator: 0x0A) {
                var parser = LineParser()
                parser.text = JSONText(Array(line[(line.lastIndex(of: 0).map { $0 + 1 } ?? line.startIndex)...]))
                guard parser.parse(), parser.passedOver == 0, let number = parser.head.sequence else {
                    // A hole of a power cut stays where it is.
                    if mayHaveHoles { continue }
                    throw RestartWorld.Failure(description: "not a line: \(String(decoding: line, as: UTF8.self))")
                }
                guard number > last else {
                    throw RestartWorld.Failure(description: "line \(number) follows line \(last)")
                }
                guard lines[number] == String(decoding: parser.text.bytes, as: UTF8.self) + "\n" else {
                    throw RestartWorld.Failure(
                        description: "line \(number) is \(String(decoding: line, as: UTF8.self)), expected "
                            + "\(lines[number] ?? "none")")
                }
                numbers.insert(number)
                last = number
            }
        }
        if let lost = lines.keys.filter({ $0 <= durable && !contains($0) }).min() {
            throw RestartWorld.Failure(description: "line \(lost) was durable, and is not in the files")
        }
    }

    /// Whether a line is there, or was deleted for its age.
    func contains(_ number: Int) -> Bool { number < first ? number <= last : numbers.contains(number) }
}
