package import BaseTypes
package import BeaconMonitoring

extension Journal {
    /// Closes what was written until now, says in the first line of the next file that something was forgotten, and keeps a
    /// snapshot that knows nothing of it. After that, the closed files can be replaced while the gateway runs. The line is
    /// written now because a start appends to the last file: otherwise a gateway that restarts during the erasure could
    /// append to a file that is about to be replaced.
    ///
    /// - Parameters:
    ///   - request: the beacon, and how much of it.
    ///   - snapshot: the engine's state, without it.
    ///   - refreshed: the conditions that it was the last to refresh.
    ///   - now: the present.
    /// - Returns: the number of the last line in the closed files; `nil` where lines or records can't be kept now.
    package func forget(
        _ request: ErasureRequest, _ snapshot: MonitorSnapshot, refreshed: Set<Identifier>, at now: Instant
    ) -> Int? {
        commit(at: now)
        guard waiting == 0 || !linesWait else { return nil }
        rotate()
        let last = sequence
        forgetRecords(request, refreshed: refreshed, at: now)
        commit(at: now)
        guard isKeeping, keep(snapshot, at: now) else { return nil }
        return last
    }
}
