import EventLog
import SystemPackage

/// Keeps on the disk how far lines were shipped, and which broker speaks MQTT 5.
struct CheckpointKeeper {
    private let path: FilePath
    private let files: any FileSystemCalls
    /// The broker whose MQTT 5 the checkpoint tells of.
    private var five: String?
    private var isFiveStale = false
    private var error: Errno?

    /// For the checkpoint at `path`, which tells of that broker so far.
    init(_ path: FilePath, five: String?, _ files: any FileSystemCalls) {
        self.path = path
        self.files = files
        self.five = five
    }

    /// Notes that this broker speaks MQTT 5, to be kept: silence will not be taken for another version then.
    ///
    /// - Returns: whether that is news.
    mutating func note(five broker: String) -> Bool {
        guard five != broker else { return false }
        five = broker
        isFiveStale = true
        return true
    }

    /// Whether there is something to be kept.
    func isStale(_ window: ShippingWindow) -> Bool { window.unkept > 0 || isFiveStale }

    /// Puts on the disk up to where the broker has all lines, and notes that in the window.
    ///
    /// - Throws: `Errno` of what writes files.
    mutating func keep(_ window: inout ShippingWindow) throws(Errno) {
        do throws(Errno) {
            try ShippingCheckpoint(position: window.shipped, five: five).write(path, files: files)
        } catch {
            self.error = error
            throw error
        }
        window.keep()
        (isFiveStale, error) = (false, nil)
    }

    /// What is the matter where it could not be kept last: that shipping will stop, or has.
    func trouble(_ window: ShippingWindow) -> String? {
        guard let error else { return nil }
        let consequence =
            window.unkept < window.capacity
            ? "at most \(window.capacity) lines are sent until it can"
            : "\(window.capacity) lines were sent after it, and publishing has stopped until it can"
        return "\(path) can't be written: \(error); \(consequence)"
    }
}
