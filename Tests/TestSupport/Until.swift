import Glibc

/// An error: a condition that a test waited for did not become true.
package struct NeverSo: Error, CustomStringConvertible {
    package let description: String

    /// Creates an error from a condition and the last observation.
    package init(_ what: String, saw: String) {
        description = "not so after \(untilLimit): \(what); last seen: \(saw)"
    }
}

/// The time that ``until(_:saw:_:)`` waits at most. It limits a hang on a slow machine. No test should expect that a
/// condition takes this long.
package let untilLimit = Duration.seconds(300)

/// Lets other tasks run until a condition is true, if nothing notifies the test of it.
///
/// - Parameters:
///   - what: the condition, in words.
///   - saw: the last observation, for the error.
///   - isSo: returns whether the condition is true.
/// - Throws: ``NeverSo`` with `what` and `saw` after 300 s.
package func until(
    _ what: String, saw: @autoclosure () -> String, _ isSo: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + untilLimit
    while try await !isSo() {
        guard ContinuousClock.now < end else { throw NeverSo(what, saw: saw()) }
        await Task.yield()
    }
}
