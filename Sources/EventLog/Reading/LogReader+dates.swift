package import BeaconMonitoring
import JSON
import SystemPackage

extension LogReader {
    /// Returns the dates of the first line and of the last line or newer proof, by the wall clock as later lines correct it.
    ///
    /// It reads the ends of the files; a file without a line that has a date is passed over. The files of a place are taken in
    /// their order. The result is `nil` if no line has a date.
    ///
    /// - Throws: ``EventLogError/readFailed(_:_:)``.
    package mutating func dates() throws(EventLogError) -> (first: WallDate, last: WallDate)? {
        let stamping = try stamp()
        self.stamping = stamping
        readProofs(stamping)
        var dates: [WallDate] = []
        for place in places.indices {
            let paths = sources.filter { $0.place == place }.map(\.path)
            for path in paths {
                guard let date = try date(in: path, from: 0, isLast: false, stamping) else { continue }
                dates.append(date)
                break
            }
            for path in paths.reversed() {
                guard let date = try lastDate(in: path, stamping) else { continue }
                dates.append(date)
                break
            }
        }
        guard let first = dates.min(), let last = (dates + proofs.map(\.date)).max() else { return nil }
        return (first, last)
    }

    /// Returns the date of the last line of a file that has one. It reads from the end, twice as much each time.
    private func lastDate(in path: FilePath, _ stamping: Restamping) throws(EventLogError) -> WallDate? {
        let size: Int
        do throws(Errno) {
            let file = try files.openForReading(path)
            defer { files.close(file) }
            size = try files.size(of: file)
        } catch {
            throw .readFailed(path.string, error)
        }
        var length = SegmentReader.window
        while true {
            let start = max(0, size - length)
            if let date = try date(in: path, from: start, isLast: true, stamping) { return date }
            guard start > 0 else { return nil }
            length *= 2
        }
    }

    /// Returns the date of the first line from a place on that has one, or of the last.
    private func date(
        in path: FilePath, from start: Int, isLast: Bool, _ stamping: Restamping
    ) throws(EventLogError) -> WallDate? {
        var parser = LineParser()
        parser.readsAddresses = false
        parser.readsSightings = false
        var boot = Boot()
        var date: WallDate?
        do throws(Errno) {
            var reader = try SegmentReader(path, files: files, from: start)
            while isLast || date == nil, try reader.next(into: &parser.text.bytes) {
                // The rest of a line that starts before `start` is not an object, and is not parsed.
                if parser.parse(), parser.head.version <= LineVersion.current,
                    let line = Self.line(&parser, &boot, stamping)
                {
                    date = line.date
                }
            }
        } catch {
            throw .readFailed(path.string, error)
        }
        return date
    }

    /// Returns the corrections that the clock lines of all files make to the dates before them.
    func stamp() throws(EventLogError) -> Restamping {
        var stamping = Restamping()
        for source in sources { try stamping.note(clockLinesOf: source.path, files) }
        return stamping
    }
}
