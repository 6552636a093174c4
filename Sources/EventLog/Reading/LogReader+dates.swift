package import BeaconMonitoring
import JSON
import SystemPackage

extension LogReader {
    /// Returns the dates of the first line and of the last line or newer proof, by the wall clock as later lines correct it.
    ///
    /// It reads the ends of the files, and takes the first and the last file of each place for its oldest and newest. The
    /// result is `nil` if no line was found there.
    ///
    /// - Throws: ``EventLogError/readFailed(_:_:)``.
    package mutating func dates() throws(EventLogError) -> (first: WallDate, last: WallDate)? {
        let stamping = try stamp()
        self.stamping = stamping
        readProofs(stamping)
        var dates: [WallDate] = []
        for place in places.indices {
            let own = sources.filter { $0.place == place }
            guard let oldest = own.first, let newest = own.last else { continue }
            guard let first = try date(in: oldest.path, from: 0, isLast: false, stamping) else { continue }
            var begin = 0
            do throws(Errno) {
                let file = try files.openForReading(newest.path)
                defer { files.close(file) }
                begin = max(0, try files.size(of: file) - SegmentReader.window)
            } catch {
                throw .readFailed(newest.path.string, error)
            }
            dates += [first, try date(in: newest.path, from: begin, isLast: true, stamping) ?? first]
        }
        guard let first = dates.min(), let last = (dates + proofs.map(\.date)).max() else { return nil }
        return (first, last)
    }

    /// Returns the date of the first line of a file, or of the last, that has one.
    private func date(
        in path: FilePath, from begin: Int, isLast: Bool, _ stamping: Restamping
    ) throws(EventLogError) -> WallDate? {
        var parser = LineParser()
        parser.readsAddresses = false
        parser.readsSightings = false
        var boot = Boot()
        var date: WallDate?
        do throws(Errno) {
            var reader = try SegmentReader(path, files: files, from: begin)
            while isLast || date == nil, try reader.next(into: &parser.text.bytes) {
                // The first bytes can be the rest of a line, which has no beginning and is not parsed.
                if parser.parse(), let line = Self.line(&parser, &boot, stamping) { date = line.date }
            }
        } catch {
            throw .readFailed(path.string, error)
        }
        return date
    }

    /// Returns what the clock lines of all files say of the dates before them.
    func stamp() throws(EventLogError) -> Restamping {
        var stamping = Restamping()
        for source in sources { try stamping.note(clockLinesOf: source.path, files) }
        return stamping
    }
}
