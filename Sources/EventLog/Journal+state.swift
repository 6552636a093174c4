public import BeaconMonitoring
public import BluetoothLE
import SystemPackage

// The snapshot, and what it covers.
extension Journal {
    /// Whether it is time to ``keep(_:at:)`` a snapshot: after a rotation, now and then, after many lines.
    public var wantsSnapshot: Bool { snapshotIsDue && lineTrouble == nil }

    /// Keeps a snapshot of the engine, with all lines durable that led to it.
    ///
    /// A temporary file, synchronised, renamed, the folder synchronised: there is the old one or the new one, whole.
    /// - Returns: whether it is kept; where not, the one before stands, and it is tried again.
    @discardableResult public func keep(_ snapshot: MonitorSnapshot, at time: Instant) -> Bool {
        now = max(now, time)
        snapshotIsDue = false
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
        if let snapshot { keep(snapshot, at: now) }
        if let open, open.file >= 0 { files.close(open.file) }
        open = nil
    }
}
