/// A place in a configuration file, counted from 1 as editors count.
public struct Position: Sendable, Hashable, Comparable {
    // 32 bits, because a file is at most 64 MiB, and each of many conditions can have a position.
    private let packedLine: UInt32
    private let packedColumn: UInt32

    /// The line, from 1. Lines end with LF, CR LF or CR.
    public var line: Int { Int(packedLine) }
    /// The column, from 1, in Unicode scalars.
    public var column: Int { Int(packedColumn) }

    /// Creates a position. Both numbers count from 1.
    public init(line: Int, column: Int) {
        packedLine = UInt32(clamping: line)
        packedColumn = UInt32(clamping: column)
    }

    /// Orders by place in the file.
    public static func < (left: Position, right: Position) -> Bool {
        left.packedLine != right.packedLine
            ? left.packedLine < right.packedLine : left.packedColumn < right.packedColumn
    }
}

/// An error or a warning at one place in a configuration file.
public struct ConfigurationIssue: Sendable, Hashable {
    /// The name of the file, as given by the caller.
    public let file: String
    /// The place in the file.
    public let position: Position
    /// The problem: `mqtt.port is 70000`.
    public let message: String
    /// The remedy: `expected 1…65535`.
    public let hint: String?

    /// The line, from 1.
    public var line: Int { position.line }
    /// The column, from 1, in Unicode scalars.
    public var column: Int { position.column }
}

extension ConfigurationIssue: CustomStringConvertible {
    /// The problem in one line: `gateway.yaml:14:9: mqtt.port is 70000; expected 1…65535`.
    public var description: String {
        "\(file):\(line):\(column): \(message)" + (hint.map { "; \($0)" } ?? "")
    }
}

/// All errors of a configuration file, in the order of the file.
public struct ConfigurationErrors: Error, Sendable, Hashable {
    /// The maximum number of listed errors. More errors usually have the same reason.
    public static let listedMost = 200

    /// The first ``listedMost`` errors; never empty.
    public let listed: [ConfigurationIssue]
    /// The number of errors that are not listed.
    public let more: Int
}

extension ConfigurationErrors: CustomStringConvertible {
    /// A line for each error, and a line with the number of further ones.
    public var description: String {
        let lines = listed.map(\.description) + (more > 0 ? ["and \(more) more"] : [])
        return lines.joined(separator: "\n")
    }
}
