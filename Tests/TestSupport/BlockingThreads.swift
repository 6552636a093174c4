import Foundation
import Synchronization

/// Threads for work that mostly waits for other processes.
///
/// The thread pool of tests, and `concurrentPerform`, have one thread for each core. With two cores, a hundred tests
/// that wait would run two at a time.
package final class BlockingThreads: Sendable {
    /// The threads that tests share. Their number is the number of tests that can wait for other processes at the same
    /// time.
    package static let shared = BlockingThreads(width: 24)

    private struct Line {
        var waiting: [@Sendable () -> Void] = []
        var threads = 0
    }

    private let width: Int
    private let line = Mutex(Line())

    /// Creates a pool. Threads are started when they are needed.
    ///
    /// - Parameter width: the maximum number of threads. A thread ends if no work is waiting.
    package init(width: Int) { self.width = width }

    /// Runs `body` in one of the threads, as soon as one is free.
    package func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            add { continuation.resume(with: Swift.Result(catching: body)) }
        }
    }

    /// Runs `body` for each number below `count`, as many at once as there are threads.
    ///
    /// - Returns: the results, in the order of the numbers.
    package func map<Result: Sendable>(
        _ count: Int, _ body: @escaping @Sendable (Int) throws -> Result
    ) async throws -> [Result] {
        try await withThrowingTaskGroup(of: (Int, Result).self) { group in
            for number in 0..<count {
                group.addTask { (number, try await self.run { try body(number) }) }
            }
            var results: [Int: Result] = [:]
            for try await (number, result) in group { results[number] = result }
            return (0..<count).compactMap { results[$0] }
        }
    }

    private func add(_ work: @escaping @Sendable () -> Void) {
        let isNew = line.withLock { line in
            line.waiting.append(work)
            guard line.threads < width else { return false }
            line.threads += 1
            return true
        }
        if isNew { Thread.detachNewThread { self.work() } }
    }

    private func work() {
        while let work = line.withLock({ line -> (@Sendable () -> Void)? in
            if !line.waiting.isEmpty { return line.waiting.removeFirst() }
            line.threads -= 1
            return nil
        }) {
            work()
        }
    }
}
