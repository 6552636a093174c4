import EventLog
import SystemPackage

/// Stores which lines were published, and which broker supports MQTT 5.
struct CheckpointKeeper {
    private let path: FilePath
    private let files: any FileSystemCalls
    /// The broker that supports MQTT 5, as in the checkpoint; `nil` if there is none.
    private var five: String?
    private var isFiveStale = false
    private var error: Errno?

    /// Creates a value for the checkpoint at `path`, in which `five` is stored.
    init(_ path: FilePath, five: String?, _ files: any FileSystemCalls) {
        self.path = path
        self.files = files
        self.five = five
    }

    /// Notes that this broker supports MQTT 5, so that it is stored. After that, a missing answer is not a reason to
    /// use another version.
    ///
    /// - Returns: whether this is new.
    mutating func note(five broker: String) -> Bool {
        guard five != broker else { return false }
        five = broker
        isFiveStale = true
        return true
    }

    /// Returns whether there is something to store.
    func isStale(_ window: PublishingWindow) -> Bool { window.unstoredCount > 0 || isFiveStale }

    /// Stores the position up to which the broker has all lines, and notes in the window that it is stored.
    ///
    /// - Throws: `Errno` if the file cannot be written.
    mutating func keep(_ window: inout PublishingWindow) throws(Errno) {
        do throws(Errno) {
            try PublishingCheckpoint(position: window.published, five: five).write(path, files: files)
        } catch {
            self.error = error
            throw error
        }
        window.keep()
        (isFiveStale, error) = (false, nil)
    }

    /// Returns the error of the last attempt to store the checkpoint, with its effect: publishing will stop or has
    /// stopped; `nil` if it did not fail.
    func failure(_ window: PublishingWindow) -> String? {
        guard let error else { return nil }
        let consequence =
            window.unstoredCount < window.capacity
            ? "at most \(window.capacity) lines are sent until it can"
            : "\(window.capacity) lines were sent after it, and publishing has stopped until it can"
        return "\(path) can't be written: \(error); \(consequence)"
    }
}
