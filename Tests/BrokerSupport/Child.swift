import Foundation
import Glibc
import TestSupport
import Testing

/// The error that an expected line or event did not arrive.
package struct TimeoutError: Error, CustomStringConvertible {
    package var description: String

    package init(description: String) { self.description = description }
}

/// A program that runs during the test. Its lines are read as they arrive. It is killed when this value is released.
package final class Child {
    /// The values that the reading thread and a waiting one share.
    private struct Output: Sendable {
        var lines: [String] = []
        var isAtEnd = false
    }

    package let process: SpawnedProcess
    private let output = Announced(Output())
    private var taken = 0

    /// Starts the program. If there is a `body`, it is called with each line, in a separate thread.
    package init(_ program: String, _ arguments: [String], each body: (@Sendable (String) -> Void)? = nil) throws {
        process = try SpawnedProcess(program, arguments, output: .pipe, errors: .output)
        let descriptor = dup(process.output?.fileDescriptor ?? -1)
        let output = output
        Thread.detachNewThread {
            Self.read(descriptor) { line in
                if let body { body(line) } else { output.change { $0.lines.append(line) } }
            }
            output.change { $0.isAtEnd = true }
        }
    }

    private static func read(_ descriptor: Int32, _ take: (String) -> Void) {
        var rest: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            rest += buffer[..<count]
            var start = 0
            while let end = rest[start...].firstIndex(of: 0x0A) {
                take(String(decoding: rest[start..<end], as: UTF8.self))
                start = end + 1
            }
            rest.removeFirst(start)
        }
        close(descriptor)
    }

    deinit { if process.isRunning { end(SIGKILL) } }

    /// Waits for a line that contains `text`, and returns it. Earlier lines are skipped.
    @discardableResult package func line(with text: String, within seconds: TimeInterval = 300) throws -> String {
        let from = taken
        let found = output.wait(until: Date(timeIntervalSinceNow: seconds)) { output -> (String?, Int)? in
            if let index = output.lines[from...].firstIndex(where: { $0.contains(text) }) {
                return (output.lines[index], index + 1)
            }
            return output.isAtEnd ? (nil, output.lines.count) : nil
        }
        taken = found?.1 ?? said.count
        guard let line = found?.0 else {
            throw TimeoutError(description: "no line with “\(text)” arrived; the last lines: \(said.suffix(10))")
        }
        return line
    }

    /// All lines so far.
    package var said: [String] { output.now.lines }

    package func signal(_ number: Int32) { process.signal(number) }

    /// Ends the program, and returns how it ended. All of its lines are available then.
    @discardableResult package func end(_ number: Int32 = SIGTERM) -> Int32 {
        if process.isRunning {
            signal(number)
            signal(SIGCONT)
        }
        return wait()
    }

    /// Waits for the end of the program, and returns how it ended.
    @discardableResult package func wait() -> Int32 {
        let status = process.wait()
        _ = output.wait(until: Date(timeIntervalSinceNow: 10)) { $0.isAtEnd ? true : nil }
        return status
    }
}
