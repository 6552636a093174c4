/// A place in a configuration file, counted from 1 as editors count.
public struct Position: Sendable, Hashable, Comparable {
    // A file is at most 64 MiB, and there may be a position for each of many conditions.
    private let packedLine: UInt32
    private let packedColumn: UInt32

    /// The line, from 1. LF, CR LF and CR end one.
    public var line: Int { Int(packedLine) }
    /// The column, from 1, in Unicode scalars.
    public var column: Int { Int(packedColumn) }

    /// Makes a position; both count from 1.
    public init(line: Int, column: Int) {
        packedLine = UInt32(clamping: line)
        packedColumn = UInt32(clamping: column)
    }

    /// The order in the file.
    public static func < (left: Position, right: Position) -> Bool {
        left.packedLine != right.packedLine
            ? left.packedLine < right.packedLine : left.packedColumn < right.packedColumn
    }
}

/// One place in a configuration file and what is wrong, doubtful or without effect there.
public struct Mistake: Sendable, Hashable {
    /// The file, as the caller names it.
    public let file: String
    /// Where in the file.
    public let position: Position
    /// What is the matter: `mqtt.port is 70000`.
    public let message: String
    /// What to do about it: `expected 1…65535`.
    public let hint: String?

    /// The line, from 1.
    public var line: Int { position.line }
    /// The column, from 1, in Unicode scalars.
    public var column: Int { position.column }
}

extension Mistake: CustomStringConvertible {
    /// One line: `gateway.yaml:14:9: mqtt.port is 70000; expected 1…65535`.
    public var description: String {
        "\(file):\(line):\(column): \(message)" + (hint.map { "; \($0)" } ?? "")
    }
}

/// Everything that is wrong with a configuration file, in the order of the file.
public struct Mistakes: Error, Sendable, Hashable {
    /// How many are listed at most: what is wrong two hundred times has one reason.
    public static let listedMost = 200

    /// The first ``listedMost`` of them; never none.
    public let listed: [Mistake]
    /// How many mistakes there are beyond those that are listed.
    public let more: Int
}

extension Mistakes: CustomStringConvertible {
    /// A line for each, and one that counts the rest.
    public var description: String {
        let lines = listed.map(\.description) + (more > 0 ? ["and \(more) more"] : [])
        return lines.joined(separator: "\n")
    }
}
