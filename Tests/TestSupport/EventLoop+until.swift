import BaseTypes
package import EventLoops

extension EventLoop {
    /// Runs turns until a condition is true. Something in the loop must make it true.
    ///
    /// - Parameters:
    ///   - what: the condition, in words.
    ///   - saw: the last observation, for the error.
    ///   - isSo: returns whether the condition is true.
    /// - Throws: ``NeverSo`` with `what` and `saw` after ``untilLimit``, or an error of a turn or of `isSo`.
    package func turn(
        until what: String, saw: @autoclosure () -> String = "", _ isSo: () throws -> Bool
    ) throws {
        let limit = ContinuousClock.now + untilLimit
        let alarm = makeTimer { _ in }
        defer { end(alarm) }
        while try !isSo() {
            guard ContinuousClock.now < limit else { throw NeverSo(what, saw: saw()) }
            // The timer ends a turn if nothing else does.
            set(alarm, at: now + untilLimit)
            try turn()
        }
    }
}
