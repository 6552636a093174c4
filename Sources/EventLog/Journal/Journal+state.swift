public import BeaconMonitoring
public import BluetoothLE
import SystemPackage

// The snapshot, and what it covers.
extension Journal {
    /// Whether it is time to ``keep(_:at:)`` a snapshot: now and then; after a rotation and after many lines too, but not
    /// before lines weigh as much as the last snapshot did.
    public var wantsSnapshot: Bool {
        (snapshotIsDue || snapshotIsWished && octetsSinceSnapshot >= snapshotSize) && lineTrouble == nil
    }

    /// Keeps a snapshot of the engine, with all lines durable that led to it.
    ///
    /// A temporary file, synchronised, renamed, the folder synchronised: there is the old one or the new one, whole.
    /// - Returns: whether it is kept; where not, the one before stands, and it is tried again.
    @discardableResult public func keep(_ snapshot: MonitorSnapshot, at time: Instant) -> Bool {
        keep(snapshot, at: time, isClosing: false)
    }

    private func keep(_ snapshot: MonitorSnapshot, at time: Instant, isClosing: Bool) -> Bool {
        now = max(now, time)
        snapshotIsDue = false
        snapshotIsWished = false
        do throws(Errno) {
            if retryAt == nil, !groups.isEmpty {
                try write()
                try synchronize()
            }
        } catch {
            fail(error)
        }
        guard groups.isEmpty else { return false }
        var state = StateFile()
        state.sequence = encoder.sequence
        // While no segment is open, no number can have been given that no line tells of.
        let isShort = reserved - state.sequence < Self.reservation / 2
        state.reserved =
            isClosing || open == nil ? state.sequence : isShort ? state.sequence + Self.reservation : reserved
        state.boot = boot.text
        state.offset = clockOffset
        state.isSynchronized = isClockSynchronized
        state.snapshot = snapshot
        state.records = records
        // What was dropped is a record as soon as a snapshot says so, and not before (rule N3).
        for update in orphans { Self.apply(update, to: &state.records) }
        do throws(Errno) {
            try write(state)
            records = state.records
            orphans = []
            stateTrouble = nil
            snapshotSequence = state.sequence
            linesSinceSnapshot = 0
            octetsSinceSnapshot = 0
            reserved = state.reserved ?? 0
            return true
        } catch {
            counters.failures += 1
            stateTrouble =
                "records can't be kept in \(options.stateDirectory.string): \(error); a restart would lose some"
            snapshotAt = min(snapshotAt, now + Self.retryLast)
            return false
        }
    }

    private func write(_ state: StateFile) throws(Errno) {
        var buffer = LineBuffer(capacity: 16 << 10)
        let varying = state.encode(encoder, gateway: options.gateway.text, now: now, into: &buffer)
        var hasher = Hasher()
        unsafe buffer.withBytes { unsafe hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: $0[varying...])) }
        let hash = hasher.finalize()
        // Nobody came, left or was heard: the card is spared.
        if hash == snapshotHash { return }
        let path = options.stateDirectory.appending(Self.stateName)
        let temporary = options.stateDirectory.appending(".\(Self.stateName).new")
        try makeDirectories(options.stateDirectory)
        do throws(Errno) { try files.remove(temporary) } catch {
            guard error == .noSuchFileOrDirectory else { throw error }
        }
        let file = try files.open(temporary, isNew: true)
        do throws(Errno) {
            var written = 0
            while written < buffer.count {
                let (files, from) = (files, written)
                written += try unsafe buffer.withBytes { bytes throws(Errno) in
                    try unsafe files.write(file, at: from, UnsafeRawBufferPointer(rebasing: bytes[from...]))
                }
            }
            try files.synchronize(file)
        } catch {
            files.close(file)
            // What it takes up may be what is missing.
            try? files.remove(temporary)
            throw error
        }
        files.close(file)
        try files.rename(temporary, to: path)
        try files.synchronizeDirectory(options.stateDirectory)
        note(bytes: buffer.count)
        noteSynchronization()
        noteSynchronization()
        counters.snapshots += 1
        snapshotHash = hash
        snapshotSize = buffer.count
    }

    /// Says in `state.json`, before any of them is written, up to which number lines may come to stand somewhere.
    ///
    /// Whoever finds the last lines gone goes on behind it (``Recovery``). That it can't be said is no reason not to keep
    /// lines (rule N5).
    func reserve() {
        guard encoder.sequence > reserved, reserveAt.map({ $0 <= now }) ?? true else { return }
        let number = encoder.sequence + Self.reservation
        let path = options.stateDirectory.appending(Self.stateName)
        do throws(Errno) {
            try makeDirectories(options.stateDirectory)
            let bytes = try WholeFile.read(path, octetsMax: JSONText.sizeMax, files: files)
            let text =
                StateFile.text(bytes ?? [], reserving: number) ?? StateFile.text(reserving: number, encoder, options)
            try WholeFile.replace(path, with: text, files: files)
            note(bytes: text.count)
            noteSynchronization()
            noteSynchronization()
            (reserved, reserveAt) = (number, nil)
        } catch {
            counters.failures += 1
            reserveAt = now + Self.retryLast
        }
    }

    /// Ends the journal: what waits is put on the disk, the snapshot is kept, the files are closed.
    public func close(_ snapshot: MonitorSnapshot?, at time: Instant) {
        now = max(now, time)
        // One last try, whatever failed before.
        retryAt = nil
        do throws(Errno) {
            try write()
            try synchronize()
        } catch {
            fail(error)
        }
        if let snapshot { _ = keep(snapshot, at: now, isClosing: true) }
        if let open, open.file >= 0 { files.close(open.file) }
        open = nil
    }
}
