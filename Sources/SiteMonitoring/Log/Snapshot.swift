/// Identifies a snapshot, by the last batch in its state and by its writer.
package struct SnapshotName: Sendable, Hashable {
    /// The offset of the last batch that the state includes.
    package let offset: UInt64
    /// The process that wrote the snapshot. Two processes can write snapshots of the same offset at the same time
    /// without affecting each other.
    package let writer: LogName

    /// Creates the name of a process's state after a batch.
    package init(offset: UInt64, writer: LogName) {
        self.offset = offset
        self.writer = writer
    }
}

/// A piece of a snapshot that is being written.
package struct SnapshotPiece: Sendable, Hashable {
    /// The name of the snapshot.
    package let name: SnapshotName
    /// The index of the piece, from 0. A process that writes a snapshot again must start with 0; this replaces the
    /// earlier pieces.
    package let index: Int
    /// Whether the piece completes the snapshot.
    package let isLast: Bool
    /// The bytes of the piece, at most ``LogLimits/pieceBytesMax``.
    package let bytes: [UInt8]

    /// Creates a piece with an index.
    package init(_ name: SnapshotName, index: Int, isLast: Bool, bytes: [UInt8]) {
        self.name = name
        self.index = index
        self.isLast = isLast
        self.bytes = bytes
    }
}

/// A complete snapshot.
package struct SnapshotHead: Sendable, Hashable {
    /// The name of the snapshot: its offset and its writer.
    package let name: SnapshotName
    /// The number of pieces to read; at least 1.
    package let pieces: Int

    /// Creates the head of a snapshot with this number of pieces.
    package init(_ name: SnapshotName, pieces: Int) {
        self.name = name
        self.pieces = pieces
    }
}
