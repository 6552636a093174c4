import BaseTypes
import BeaconMonitoring
import JSON
import SystemPackage

/// Writes `state.json`: it writes a temporary file, synchronizes and renames it, then synchronizes the folder. A power
/// failure leaves either the old file or the new one, complete.
struct StateFileWriter {
    private let options: JournalOptions
    private let files: any FileSystemCalls
    /// A hash of the content that was written last.
    private var hash: Int?

    init(_ options: JournalOptions, _ files: any FileSystemCalls) {
        self.options = options
        self.files = files
    }

    private var path: FilePath { options.stateDirectory.appending(StateFile.name) }

    /// Writes a state.
    ///
    /// - Returns: the size in bytes; `nil` if nothing has happened since the last one, in which case nothing is
    ///   written.
    mutating func write(
        _ state: StateFile, at now: Instant, _ tally: inout WriteTally
    ) throws(Errno) -> Int? {
        var buffer = LineBuffer(capacity: 16 << 10)
        let varying = state.encode(gateway: options.gateway.text, now: now, into: &buffer)
        var hasher = Hasher()
        unsafe buffer.withBytes { unsafe hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: $0[varying...])) }
        let hash = hasher.finalize()
        if hash == self.hash { return nil }
        try files.makeDirectories(options.stateDirectory)
        try WholeFile.replace(path, with: buffer, files: files)
        tally.note(bytes: buffer.count, synchronizations: 2, at: now)
        tally.counters.snapshots += 1
        self.hash = hash
        return buffer.count
    }

    /// Replaces the reservation in the file. If there is no file, writes one that contains only the reservation.
    func reserve(
        _ number: Int, at now: Instant, _ tally: inout WriteTally
    ) throws(Errno) {
        try files.makeDirectories(options.stateDirectory)
        let bytes = try WholeFile.read(path, bytesMax: StateFile.sizeMax, files: files)
        let text = StateFile.text(bytes ?? [], reserving: number) ?? StateFile.text(reserving: number, options)
        try WholeFile.replace(path, with: text, files: files)
        tally.note(bytes: text.count, synchronizations: 2, at: now)
    }
}
