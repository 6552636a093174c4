import BaseTypes
import Glibc
import OperatorLogging
import SystemPackage

/// Shows the progress of long work on a terminal. In a pipe it shows nothing.
package struct Progress {
    // Two updates in a second can be read; more would flicker.
    private static let interval: Duration = .milliseconds(500)

    private let size: Int?
    private let isShown: Bool
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private var last: ContinuousClock.Instant
    private var count = 0
    private var width = 0

    /// Starts the progress of work.
    ///
    /// - Parameters:
    ///   - size: the number of bytes to process; `nil` if it is unknown.
    ///   - writesLines: whether the command writes lines to standard output.
    package init(size: Int?, writesLines: Bool = true) {
        self.size = size
        // Progress would break up lines that go to the same terminal.
        isShown = isatty(STDERR_FILENO) == 1 && (!writesLines || isatty(STDOUT_FILENO) == 0)
        start = clock.now
        last = start
    }

    /// Adds `more` records. `position` must return the number of bytes that were read; it is called only if progress is
    /// shown.
    package mutating func note(_ more: Int, position: () -> Int) {
        guard isShown else { return }
        count += more
        let now = clock.now
        guard now - last >= Self.interval else { return }
        last = now
        show(position(), elapsed: now - start)
    }

    /// Removes the progress from the terminal.
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
        // If progress cannot be shown, the work still continues.
        _ = try? FileDescriptor.standardError.writeAll(text.utf8)
    }
}
