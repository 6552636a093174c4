// Two threads change a counter with a lock or, if there is an argument, without it. The thread sanitizer must report a
// race only in the second case.
import Glibc
import Synchronization

private struct Shared {
    nonisolated(unsafe) static var count = 0
    static let lock = Mutex(0)
}

private let forgets = CommandLine.arguments.count > 1

private func work() {
    for _ in 0..<10_000 {
        if forgets { Shared.count += 1 } else { Shared.lock.withLock { $0 += 1 } }
    }
}

private var threads = (pthread_t(), pthread_t())
unsafe pthread_create(&threads.0, nil, { _ in run() }, nil)
unsafe pthread_create(&threads.1, nil, { _ in run() }, nil)
pthread_join(threads.0, nil)
pthread_join(threads.1, nil)

private func run() -> UnsafeMutableRawPointer? {
    work()
    return nil
}
