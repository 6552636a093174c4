import Foundation
import Synchronization

/// Threads for work that mostly waits for other processes.
///
/// The pool that tests run in is as wide as the machine has cores, and so is `concurrentPerform`: a hundred tests that wait
/// would wait two at a time.
package final class BlockingThreads: Sendable {
    /// As many as wait at once without the machine being what they wait for.
    package static let shared = BlockingThreads(width: 24)

    private struct Line {
        var waiting: [@Sendable () -> Void] = []
        var threads = 0
    }

    private let width: Int
    private let line = Mutex(Line())

    /// - Parameter width: how many threads there are at most; each ends where nothing waits.
    package init(width: Int) { self.width = width }

    /// Does `body` in one of the threads, once one is free.
    package func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            add { continuation.resume(with: Swift.Result(catching: body)) }
        }
    }

    /// Does `body` for each number below `count`, as many at once as there are threads.
    ///
    /// - Returns: what each gave, in the order of the numbers.
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
