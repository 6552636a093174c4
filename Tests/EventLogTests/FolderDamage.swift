import Foundation
import SystemPackage
import TestSupport

@testable import BeaconMonitoring
@testable import EventLog

/// A change to a folder of event files between two starts.
enum FolderDamage: CustomStringConvertible {
    case zeros(String, Range<Int>)
    case garbage(String, Range<Int>)
    case cut(String, Int)
    case missing(String)
    case swapped(String, String)
    case doubled(String, as: String)

    /// Creates a random change.
    init(_ folder: Folder, _ random: inout SeededGenerator) {
        let segments = folder.segments
        let name = random.pick(segments)
        let size = max(1, (try? folder.bytes("events/" + name).count) ?? 1)
        let offset = random.below(size)
        switch random.below(8) {
        case 0: self = .zeros(name, offset..<min(size, offset + 1 + random.below(3)))
        case 1: self = .zeros(name, offset / 512 * 512..<min(size, (offset / 512 + 1) * 512))
        case 2, 3: self = .garbage(name, offset..<min(size, offset + 1 + random.below(40)))
        case 4: self = .cut(name, offset)
        case 5:
            let others = ["events/current", "state/state.json", "state/mqtt.json"]
            self = .missing(random.pick(others + segments.map { "events/" + $0 }))
        case 6: self = .swapped(name, random.pick(segments))
        default:
            let copy = SegmentDirectory.segmentName(
                first: random.below(400),
                date: WallDate(microseconds: 1_795_219_200_000_000 + 1_000_000 * Int64(offset)))
            self = segments.contains(copy) ? .cut(name, size) : .doubled(name, as: copy)
        }
    }

    func apply(_ folder: Folder, _ random: inout SeededGenerator) throws {
        switch self {
        case .zeros(let name, let range):
            try folder.change(name) { bytes in for place in range where place < bytes.count { bytes[place] = 0 } }
        case .garbage(let name, let range):
            var bytes = range.map { _ in UInt8(truncatingIfNeeded: random.next()) }
            // In one of four cases these are digits, so that numbers and dates become other ones.
            if random.below(4) == 0 { bytes = bytes.map { 0x30 + $0 % 10 } }
            try folder.change(name) { bytes in
                for (place, byte) in zip(range, bytes) where place < bytes.count { bytes[place] = byte }
            }
        case .cut(let name, let size): try folder.change(name) { $0.removeLast(max(0, $0.count - size)) }
        case .missing(let name): try? FileManager.default.removeItem(atPath: folder.path + "/" + name)
        case .swapped(let name, let other):
            guard let left = try? folder.bytes("events/" + name), let right = try? folder.bytes("events/" + other)
            else { return }
            try folder.change(name) { $0 = right }
            try folder.change(other) { $0 = left }
        case .doubled(let name, let copy):
            guard let bytes = try? folder.bytes("events/" + name) else { return }
            try Data(bytes).write(to: URL(fileURLWithPath: folder.path + "/events/" + copy))
        }
    }

    /// Returns whether the change can remove lines from the end of a file, or change their numbers, without a trace.
    func leavesNoTrace(atEndOf newest: String, lastLine: Int) -> Bool {
        switch self {
        case .cut(let name, _): name == newest
        case .garbage(let name, let range): name == newest && range.upperBound > lastLine
        default: false
        }
    }

    var description: String {
        switch self {
        case .zeros(let name, let range): "zeros in \(name), \(range)"
        case .garbage(let name, let range): "garbage in \(name), \(range)"
        case .cut(let name, let size): "\(name) cut at \(size)"
        case .missing(let name): "\(name) missing"
        case .swapped(let name, let other): "\(name) and \(other) swapped"
        case .doubled(let name, let copy): "\(name) doubled as \(copy)"
        }
    }
}

extension Folder {
    func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path + "/" + name)))
    }

    func change(_ name: String, _ body: (inout [UInt8]) -> Void) throws {
        guard var bytes = try? bytes("events/" + name) else { return }
        body(&bytes)
        try Data(bytes).write(to: URL(fileURLWithPath: path + "/events/" + name))
    }

    /// The parts between line ends in all event files. The part after the last line end of a file is not included.
    var pieces: [ArraySlice<UInt8>] {
        get throws {
            try segments.flatMap {
                try bytes("events/" + $0).split(separator: 0x0A, omittingEmptySubsequences: false).dropLast()
            }
        }
    }
}
