import JSON
import SiteMonitoring

extension NATSLog {
    /// A snapshot that is whole, and what its pieces' subjects have in common.
    struct Head {
        let head: SnapshotHead
        let generation: String

        var line: String { "\(generation) \(head.name.offset) \(head.name.writer) \(head.pieces)" }

        init(head: SnapshotHead, generation: String) {
            self.head = head
            self.generation = generation
        }

        init?(_ line: Substring) {
            let parts = line.split(separator: " ")
            guard parts.count == 4, let offset = UInt64(parts[1]), let pieces = Int(parts[3]), pieces > 0 else {
                return nil
            }
            do throws(LogTrouble) {
                let name = SnapshotName(offset: offset, writer: try LogName(String(parts[2])))
                self.init(head: SnapshotHead(name, pieces: pieces), generation: String(parts[0]))
            } catch { return nil }
        }
    }

    /// Those that are whole, the newest first, and the revision of the list.
    func heads(_ ticket: LogTicket, _ done: @escaping ([Head], UInt64) -> Void) {
        get(.snapshots, streams.whole, ticket) { message in
            let text = String(decoding: message?.octets ?? [], as: UTF8.self)
            done(text.split(separator: "\n").compactMap { Head($0) }, message?.sequence ?? 0)
        }
    }

    func readPiece(_ name: SnapshotName, _ index: Int, _ ticket: LogTicket) {
        heads(ticket) { [self] heads, _ in
            guard let one = heads.first(where: { $0.head.name == name }), (0..<one.head.pieces).contains(index) else {
                return finish(ticket, .success(.piece(nil)))
            }
            get(.snapshots, streams.piece(one.generation, index), ticket) { [self] message in
                finish(ticket, .success(.piece(message?.octets)))
            }
        }
    }

    func write(_ piece: SnapshotPiece, _ ticket: LogTicket) {
        let begun = piece.index == 0 ? nil : unfinished[piece.name]
        let generation =
            begun?.generation ?? "\(ownWord)-\(ticket.number)"
        let count = begun?.count ?? 0
        // The one that was written last may come again: nobody said that it had come.
        guard piece.index == count || (begun != nil && piece.index == count - 1) else {
            return finish(ticket, .failure(.refused("piece \(piece.index) of a snapshot that has \(count)")))
        }
        unfinished[piece.name] = (generation, piece.index)
        write(streams.piece(generation, piece.index), piece.octets, over: nil, ticket) { [self] _ in
            unfinished[piece.name] = (generation, piece.index + 1)
            guard piece.isLast else { return finish(ticket, .success(.stored)) }
            finishSnapshot(
                Head(head: SnapshotHead(piece.name, pieces: piece.index + 1), generation: generation), ticket)
        }
    }

    private func finishSnapshot(_ new: Head, _ ticket: LogTicket) {
        heads(ticket) { [self] heads, revision in
            guard heads.first?.generation != new.generation else { return finish(ticket, .success(.stored)) }
            let others = heads.filter { $0.head.name != new.head.name }
            let kept = [new] + others.prefix(1)
            let text = kept.map { $0.line + "\n" }.joined()
            write(streams.whole, Array(text.utf8), over: revision, ticket) { [self] result in
                // Another has finished one meanwhile.
                guard case .success = result else { return finishSnapshot(new, ticket) }
                let generations = Set(kept.map(\.generation))
                for old in heads where !generations.contains(old.generation) {
                    let pieces = "\(streams.piece(old.generation, 0).dropLast(1))*"
                    let request = SiteStreams.request { $0.write("filter", pieces) }
                    ask("$JS.API.STREAM.PURGE.\(streams.name(.snapshots))", request, for: ticket) { _ in }
                }
                finish(ticket, .success(.stored))
            }
        }
    }
}
