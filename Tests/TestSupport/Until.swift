/// What a test waited for has not come to be.
package struct NeverSo: Error, CustomStringConvertible {
    package let description: String
}

/// Lets other tasks run until something is so that no one tells of.
///
/// The bound is for what would hang, and far above what a busy machine takes.
/// - Throws: ``NeverSo`` with `what` after ten minutes.
package func until(_ what: String, _ isSo: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(600)
    while try await !isSo() {
        guard ContinuousClock.now < end else { throw NeverSo(description: "ten minutes, and still not so: \(what)") }
        await Task.yield()
    }
}
