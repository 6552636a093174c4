import Foundation
import Synchronization

/// A value under a lock, and who waits for it to change.
package final class Announced<Value: Sendable>: Sendable {
    private let value: Mutex<Value>
    // The lock tells nobody; this keeps nothing.
    private let condition = NSCondition()

    package init(_ value: Value) { self.value = Mutex(value) }

    /// What is so now.
    package var now: Value { value.withLock { $0 } }

    /// Looks at it, or changes it unannounced.
    package func look<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        value.withLock { value in body(&value) }
    }

    /// Changes it, and tells who waits.
    package func change(_ body: (inout Value) -> Void) {
        condition.lock()
        value.withLock { value in body(&value) }
        condition.broadcast()
        condition.unlock()
    }

    /// Waits until `body` gives something; `nil` where that was not so for `seconds` after it last changed.
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
