import BaseTypes
import BeaconMonitoring
import JSON
import SystemPackage

/// Writes `state.json`: a temporary file, synchronised, renamed, the folder synchronised. There is the old one or the new
/// one, whole.
struct StateFileWriter {
    private let options: JournalOptions
    private let files: any FileSystemCalls
    /// What it said last, in short.
    private var hash: Int?

    init(_ options: JournalOptions, _ files: any FileSystemCalls) {
        self.options = options
        self.files = files
    }

    private var path: FilePath { options.stateDirectory.appending(StateFile.name) }

    /// Writes a state.
    ///
    /// - Returns: how many octets it has; `nil` where nobody came, left or was heard since the last: the card is spared.
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

    /// Puts another reservation into the file; makes one that says nothing else, where there is none.
    func reserve(
        _ number: Int, at now: Instant, _ tally: inout WriteTally
    ) throws(Errno) {
        try files.makeDirectories(options.stateDirectory)
        let bytes = try WholeFile.read(path, octetsMax: StateFile.sizeMax, files: files)
        let text = StateFile.text(bytes ?? [], reserving: number) ?? StateFile.text(reserving: number, options)
        try WholeFile.replace(path, with: text, files: files)
        tally.note(bytes: text.count, synchronizations: 2, at: now)
    }
}
