/// What a test waited for has not come to be.
package struct NeverSo: Error, CustomStringConvertible {
    package let description: String
}

/// Lets other tasks run until something is so that no one tells of.
///
/// The bound is for what would hang. Whoever waits has his turn after all that is ready to run, so on a busy machine a wait
/// can be as long as all tests together: the bound is far above that.
/// - Throws: ``NeverSo`` with `what` after forty minutes.
package func until(_ what: String, _ isSo: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(2_400)
    while try await !isSo() {
        guard ContinuousClock.now < end else { throw NeverSo(description: "forty minutes, and still not so: \(what)") }
        await Task.yield()
    }
}
