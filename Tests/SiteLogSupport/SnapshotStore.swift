internal import SiteMonitoring

/// Snapshots that are being written, and the last two complete ones.
struct SnapshotStore {
    private var unfinished: [SnapshotName: [[UInt8]]] = [:]
    private var whole: [(name: SnapshotName, pieces: [[UInt8]])] = []

    /// The snapshot that was completed last.
    var latest: SnapshotHead? { whole.last.map { SnapshotHead($0.name, pieces: $0.pieces.count) } }

    /// Returns a piece of a complete snapshot; `nil` if there is none.
    func piece(_ name: SnapshotName, _ index: Int) -> [UInt8]? {
        guard let pieces = whole.last(where: { $0.name == name })?.pieces, pieces.indices.contains(index) else {
            return nil
        }
        return pieces[index]
    }

    /// Stores the next piece of a snapshot. The last stored piece is accepted again without a change.
    mutating func write(_ piece: SnapshotPiece) -> Result<LogResponse, SiteLogError> {
        // The last piece is sent again if its answer did not arrive.
        if piece.isLast, whole.last?.name == piece.name, whole.last?.pieces.last == piece.bytes {
            return .success(.stored)
        }
        var pieces = piece.index == 0 ? [] : unfinished[piece.name] ?? []
        if piece.index == pieces.count - 1, pieces.last == piece.bytes { return .success(.stored) }
        guard piece.index == pieces.count else {
            return .failure(.refused("piece \(piece.index) of a snapshot that has \(pieces.count)"))
        }
        pieces.append(piece.bytes)
        unfinished[piece.name] = piece.isLast ? nil : pieces
        guard piece.isLast else { return .success(.stored) }
        whole.removeAll { $0.name == piece.name }
        whole.append((piece.name, pieces))
        if whole.count > 2 { whole.removeFirst() }
        return .success(.stored)
    }
}
