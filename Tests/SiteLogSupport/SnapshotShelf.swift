internal import SiteMonitoring

/// Snapshots that are being written, and the last two that are whole.
struct SnapshotShelf {
    private var unfinished: [SnapshotName: [[UInt8]]] = [:]
    private var whole: [(name: SnapshotName, pieces: [[UInt8]])] = []

    /// The one that was finished last.
    var latest: SnapshotHead? { whole.last.map { SnapshotHead($0.name, pieces: $0.pieces.count) } }

    /// A piece of one that is whole.
    func piece(_ name: SnapshotName, _ index: Int) -> [UInt8]? {
        guard let pieces = whole.last(where: { $0.name == name })?.pieces, pieces.indices.contains(index) else {
            return nil
        }
        return pieces[index]
    }

    /// Takes a piece at the end of what is there, or the last one of those once more.
    mutating func write(_ piece: SnapshotPiece) -> Result<LogResponse, LogTrouble> {
        // Its last piece was sent again because nobody said that it had come.
        if piece.isLast, whole.last?.name == piece.name, whole.last?.pieces.last == piece.octets {
            return .success(.stored)
        }
        var pieces = piece.index == 0 ? [] : unfinished[piece.name] ?? []
        if piece.index == pieces.count - 1, pieces.last == piece.octets { return .success(.stored) }
        guard piece.index == pieces.count else {
            return .failure(.refused("piece \(piece.index) of a snapshot that has \(pieces.count)"))
        }
        pieces.append(piece.octets)
        unfinished[piece.name] = piece.isLast ? nil : pieces
        guard piece.isLast else { return .success(.stored) }
        whole.removeAll { $0.name == piece.name }
        whole.append((piece.name, pieces))
        if whole.count > 2 { whole.removeFirst() }
        return .success(.stored)
    }
}
