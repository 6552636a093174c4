import Foundation
import Synchronization

/// A value under a lock, with which threads can wait for its changes.
package final class Announced<Value: Sendable>: Sendable {
    private let value: Mutex<Value>
    // The mutex cannot wake waiting threads, and this condition protects no value.
    private let condition = NSCondition()

    package init(_ value: Value) { self.value = Mutex(value) }

    /// The present value.
    package var now: Value { value.withLock { $0 } }

    /// Reads the value, or changes it without waking waiting threads.
    package func look<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        value.withLock { value in body(&value) }
    }

    /// Changes the value, and wakes waiting threads.
    package func change(_ body: (inout Value) -> Void) {
        condition.lock()
        value.withLock { value in body(&value) }
        condition.broadcast()
        condition.unlock()
    }

    /// Waits until `body` returns a value, and returns it. It returns `nil` if this did not happen within `seconds`
    /// after the last change, or before `end`.
    package func wait<Result: Sendable>(
        quiet seconds: TimeInterval = .infinity, until end: Date = .distantFuture, _ body: (inout Value) -> Result?
    ) -> Result? {
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let result = value.withLock({ value in body(&value) }) { return result }
            let limit = seconds.isFinite ? min(end, Date(timeIntervalSinceNow: seconds)) : end
            guard condition.wait(until: limit) else { return value.withLock { value in body(&value) } }
        }
    }
}
