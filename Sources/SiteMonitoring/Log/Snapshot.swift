/// Which snapshot it is: up to where its state goes, and who wrote it.
package struct SnapshotName: Sendable, Hashable {
    /// The offset of the last batch that its state has taken in.
    package let offset: UInt64
    /// Who wrote it. Two processes may write of the same offset at once, and neither disturbs the other.
    package let writer: LogName

    /// A state after that batch, as that process has it.
    package init(offset: UInt64, writer: LogName) {
        self.offset = offset
        self.writer = writer
    }
}

/// A piece of a snapshot as it is written.
package struct SnapshotPiece: Sendable, Hashable {
    /// Of which one.
    package let name: SnapshotName
    /// From 0 on. Who writes one anew begins with 0, and what was there of it goes.
    package let index: Int
    /// Whether the snapshot is whole with it.
    package let isLast: Bool
    /// At most ``LogLimits/pieceOctetsMax``.
    package let octets: [UInt8]

    /// A piece for a place.
    package init(_ name: SnapshotName, index: Int, isLast: Bool, octets: [UInt8]) {
        self.name = name
        self.index = index
        self.isLast = isLast
        self.octets = octets
    }
}

/// A snapshot that is whole.
package struct SnapshotHead: Sendable, Hashable {
    /// Up to which offset it goes, and who wrote it.
    package let name: SnapshotName
    /// In how many pieces it is read; at least 1.
    package let pieces: Int

    /// One of so many pieces.
    package init(_ name: SnapshotName, pieces: Int) {
        self.name = name
        self.pieces = pieces
    }
}
