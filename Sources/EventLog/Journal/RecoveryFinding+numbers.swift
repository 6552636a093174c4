import SystemPackage

// With which number the next line begins: no number is ever given twice.
extension Journal.Recovery.Finding {
    // No line of ours is shorter.
    private static let lineMin = 128
    // A torn line at the end of a file is not longer; more is looked at no further.
    private static let endMax = 1 << 20

    /// How many lines may have stood behind the last whole one of a file, in what is none.
    ///
    /// Somebody who is killed while writing leaves the beginning of a line. Zeros, and ends of lines, are what is left where
    /// there was more: it may have been on the disk, and shipped.
    static func linesLost(
        in path: FilePath, _ place: Range<Int>, _ files: any FileSystemCalls
    ) throws(Errno) -> Int {
        guard !place.isEmpty else { return 0 }
        let file = try files.openForReading(path)
        defer { files.close(file) }
        var bytes: [UInt8] = []
        while bytes.count < min(place.count, endMax) {
            let count = min(place.count - bytes.count, 64 << 10)
            if try files.read(file, at: place.lowerBound + bytes.count, count: count, appendingTo: &bytes) == 0 {
                break
            }
        }
        let isTornAlone = place.count <= endMax && !bytes.contains { $0 == 0 || $0 == 0x0A }
        return isTornAlone ? 0 : place.count / lineMin + 1
    }

    /// The file that says in a state directory that all of it was restored from a backup.
    static let restoredName = "restored"
    // What a gateway may have written since a backup: a year at 30 lines a second.
    static let restoredGap = 1_000_000_000

    /// Numbers go on after the greatest that is seen anywhere; where lines are missing at the end, after all that may have
    /// been given; after a restored backup far behind all that may have been given since it was made.
    mutating func findNumber(_ options: JournalOptions, _ files: any FileSystemCalls) {
        findNumberInFiles(options, files)
        if !segments.isEmpty, files.isLink(options.directory.appending(lastName)) {
            // Its target is outside the folder: readers read it, and it is not changed.
            goesOn = false
        }
        let marker = options.stateDirectory.appending(Self.restoredName)
        guard let names = try? files.names(in: options.stateDirectory), names.contains(Self.restoredName),
            sequence <= LinePosition.sequenceMax / 2
        else { return }
        (isRestored, goesOn) = (true, false)
        sequence += Self.restoredGap
        remarks.append(
            "\(marker.string) says that this is a backup: nobody knows which numbers were given since it was made, so they "
                + "go on with \(sequence + 1)")
    }

    private mutating func findNumberInFiles(_ options: JournalOptions, _ files: any FileSystemCalls) {
        let inFiles = segments.reduce(greatest) { max($0, $1.first - 1) }
        sequence = max(inFiles, stateSequence, shipped)
        let isComplete = sequence == inFiles
        goesOn = isComplete
        if isComplete, lostAtEnd > 0 {
            // The end stays as it is, and another segment begins: nothing but what stands there tells of the numbers.
            sequence += lostAtEnd
            goesOn = false
            remarks.append(
                "behind the last whole line of \(lastName) there may have stood \(lostAtEnd) more: numbers go on with "
                    + "\(sequence + 1)")
        }
        let link = options.directory.appending("current")
        // It is a link of ours, or shows nothing.
        let named = (try? files.target(of: link)).flatMap { Segment(name: $0) }
        let isThere = segments.contains { $0.name == named?.name }
        guard !isThere || !isComplete, let behind = given(after: named, isComplete, options) else { return }
        goesOn = false
        let why =
            if let named, !isThere {
                "\(named.name), which was written to last, is missing"
            } else {
                isThere ? "the last lines are missing" : "\(link.string) is missing, and perhaps event files with it"
            }
        remarks.append(
            "\(why): lines \(sequence + 1) to \(behind) may have been written, so numbers go on with \(behind + 1)")
        sequence = behind
    }

    /// The last number that may have been given where lines are missing at the end; `nil` where nothing more can have been.
    private func given(after named: Segment?, _ isComplete: Bool, _ options: JournalOptions) -> Int? {
        if let reserved { return reserved > max(stateSequence, sequence) ? reserved : nil }
        // A file of an earlier version reserved nothing; and where neither it nor `current` is there, as with files that
        // were copied to another machine, nothing tells that lines are missing.
        guard !hasState, named != nil || !isComplete else { return nil }
        return max(sequence, (named?.first ?? 1) - 1) + options.rotateSize / Self.lineMin
    }
}

extension Journal.Recovery {
    /// What was found that is no line, said of the first places.
    struct Damage {
        private static let remarksMax = 20

        private(set) var lines = 0
        private var places: [String] = []
        private var more = 0

        /// Notes what stands at a place in a segment, as far as that is known.
        mutating func note(_ name: String, _ place: Range<Int>?, lines count: Int) {
            lines += count
            guard places.count < Self.remarksMax else {
                more += 1
                return
            }
            guard let place else {
                let lines = count == 1 ? "1 damaged line was" : "\(count) damaged lines were"
                return places.append("\(name): \(lines) left out")
            }
            places.append(
                "\(name): octets \(place.lowerBound) to \(place.upperBound) are damaged and were passed over; all lines "
                    + "behind them are kept")
        }

        /// For operators, one sentence each.
        var remarks: [String] {
            more > 0 ? places + ["\(more == 1 ? "1 more place is" : "\(more) more places are") damaged"] : places
        }
    }
}
