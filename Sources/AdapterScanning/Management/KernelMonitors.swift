import BaseTypes

/// The advertisement monitors that the kernel has on one adapter for the gateway, and those that it should have.
struct KernelMonitors: Sendable {
    // How long the second monitor of ``WatchdogStep/widen`` stays.
    private static let wideningLength: Duration = .seconds(10)

    /// The handle of the monitor for iBeacons; `nil` if the kernel has none.
    private(set) var beacons: UInt16?
    private var wide: UInt16?
    /// Handles to remove: the monitors of a process that crashed, and surplus ones.
    private var leftovers: [UInt16]
    private var wideUntil: Instant?
    private var restarts = false

    init(leftovers: [UInt16] = []) { self.leftovers = leftovers }

    /// The handles of all monitors that must be removed after a crash.
    var handles: [UInt16] { leftovers + [beacons, wide].compactMap { $0 } }

    /// The next unneeded handle to remove.
    var leftover: UInt16? { leftovers.first }

    /// When a widening ends; `nil` if there is none.
    var deadline: Instant? { wideUntil }

    func isLeftover(_ handle: UInt16) -> Bool { leftovers.contains(handle) }

    /// Returns the next command that brings the kernel's monitors to the wanted state.
    mutating func next(at now: Instant) -> ManagementCommand? {
        guard let beacons else {
            restarts = false
            return .addMonitor(.beacons)
        }
        if restarts { return .removeMonitor(beacons) }
        guard let wideUntil else { return nil }
        if wideUntil <= now {
            if let wide { return .removeMonitor(wide) }
            self.wideUntil = nil
            return nil
        }
        return wide == nil ? .addMonitor(.flags) : nil
    }

    /// Adds a second monitor that matches nearly every advertisement, for 10 s.
    mutating func widen(at now: Instant) { wideUntil = now + Self.wideningLength }

    mutating func cancelWidening() { wideUntil = nil }

    /// Removes the monitor and adds it again, so that the kernel starts a new scan.
    mutating func restart() { restarts = true }

    /// Records a monitor that was added.
    mutating func added(_ kind: MonitorKind, _ handle: UInt16) {
        switch kind {
        case .flags: wide = handle
        case .beacons: beacons = handle
        }
    }

    /// Records a monitor that was added after its command had counted as failed.
    ///
    /// - Returns: whether it is surplus and must be removed.
    mutating func addedLate(_ handle: UInt16) -> Bool {
        guard handle != beacons, handle != wide else { return false }
        leftovers.append(handle)
        return true
    }

    /// Records that a monitor was removed, or all of them if `handle` is 0.
    ///
    /// - Returns: whether the monitor for iBeacons is one of them.
    mutating func removed(_ handle: UInt16, at now: Instant) -> Bool {
        leftovers.removeAll { handle == 0 || $0 == handle }
        if handle == 0 || handle == wide {
            wide = nil
            if let wideUntil, wideUntil <= now { self.wideUntil = nil }
        }
        guard handle == 0 || handle == beacons else { return false }
        beacons = nil
        return true
    }

    /// Compares the state with the monitors that the kernel has.
    ///
    /// - Returns: the handle of the monitor for iBeacons if the kernel lost it without a report.
    mutating func compare(with present: [UInt16]) -> UInt16? {
        leftovers.removeAll { !present.contains($0) || $0 == beacons || $0 == wide }
        if let wide, !present.contains(wide) { self.wide = nil }
        guard let beacons, !present.contains(beacons) else { return nil }
        return beacons
    }

    /// Stops trying to remove a leftover monitor that the kernel keeps.
    mutating func giveUp(_ handle: UInt16) { leftovers.removeAll { $0 == handle } }

    /// Discards all monitors, because another controller has the adapter's number now.
    mutating func forget() {
        beacons = nil
        wide = nil
        leftovers = []
    }
}
