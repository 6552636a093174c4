import BaseTypes
import Glibc
import OperatorLogging
import SystemPackage

/// How far long work has come, on a terminal; nothing in a pipe.
package struct Progress {
    // What is told twice a second is read; what is told more often flickers.
    private static let interval: Duration = .milliseconds(500)

    private let size: Int?
    private let isShown: Bool
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private var last: ContinuousClock.Instant
    private var count = 0
    private var width = 0

    /// The progress of work on `size` octets; their number is not known where absent.
    ///
    /// - Parameters:
    ///   - size: the number of octets.
    ///   - writesLines: whether standard output has lines of the command's.
    package init(size: Int?, writesLines: Bool = true) {
        self.size = size
        // Where lines go to the same terminal they would be torn.
        isShown = isatty(STDERR_FILENO) == 1 && (!writesLines || isatty(STDOUT_FILENO) == 0)
        start = clock.now
        last = start
    }

    /// `more` records were read; the octets read so far are asked for only where something is shown.
    package mutating func note(_ more: Int, position: () -> Int) {
        guard isShown else { return }
        count += more
        let now = clock.now
        guard now - last >= Self.interval else { return }
        last = now
        show(position(), elapsed: now - start)
    }

    /// Takes the progress away.
    package mutating func end() {
        guard width > 0 else { return }
        write("\r" + String(repeating: " ", count: width) + "\r")
        width = 0
    }

    private mutating func show(_ position: Int, elapsed: Duration) {
        let seconds = max(Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) * 1e-18, 1e-3)
        var text = "\(PlainText.count(count, "record")), \(Int(Double(count) / seconds)) a second"
        if let size, size > 0, position > 0 {
            let share = min(Double(position) / Double(size), 1)
            let left = Int((seconds / share - seconds).rounded(.up))
            text = "\(Int(share * 100)) %, \(text), \(Duration.seconds(left).asClock) left"
        }
        let padding = String(repeating: " ", count: max(0, width - text.count))
        width = text.count
        write("\r" + text + padding)
    }

    private func write(_ text: String) {
        // Progress that can't be shown is no failure of the work.
        _ = try? FileDescriptor.standardError.writeAll(text.utf8)
    }
}
