import BaseTypes
package import EventLoops

extension EventLoop {
    /// Takes turns until a condition holds that something in the loop brings about.
    ///
    /// - Parameters:
    ///   - what: the condition, in words.
    ///   - saw: what was there at the last look, for the error.
    ///   - isSo: whether it holds.
    /// - Throws: ``NeverSo`` with `what` and `saw` after ``untilLimit``, or what a turn or `isSo` throws.
    package func turn(
        until what: String, saw: @autoclosure () -> String = "", _ isSo: () throws -> Bool
    ) throws {
        let limit = ContinuousClock.now + untilLimit
        let alarm = makeTimer { _ in }
        defer { end(alarm) }
        while try !isSo() {
            guard ContinuousClock.now < limit else { throw NeverSo(what, saw: saw()) }
            // It ends a turn that nothing else ends.
            set(alarm, at: now + untilLimit)
            try turn()
        }
    }
}
