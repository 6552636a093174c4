import Glibc

/// A condition that a test waited for and that did not become true.
package struct NeverSo: Error, CustomStringConvertible {
    package let description: String

    /// A condition, and what was there at the last look.
    package init(_ what: String, saw: String) {
        description = "not so after \(untilLimit): \(what); last seen: \(saw)"
    }
}

/// How long ``until(_:saw:_:)`` waits at most. It bounds a hang on a slow machine; no test expects a condition to take long.
package let untilLimit = Duration.seconds(300)

/// Lets other tasks run until a condition holds that nothing announces.
///
/// - Parameters:
///   - what: the condition, in words.
///   - saw: what was there at the last look, for the error.
///   - isSo: whether it holds.
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
