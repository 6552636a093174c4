package import BeaconMonitoring
package import BluetoothLE

/// Which beacon is to be forgotten, and how much of it.
package struct ErasureRequest: Sendable, Hashable {
    /// The beacon.
    package let beacon: BeaconIdentity
    /// What was before that date is forgotten; without one, everything.
    package let before: WallDate?

    /// Asks for a beacon to be forgotten.
    package init(_ beacon: BeaconIdentity, before: WallDate? = nil) {
        self.beacon = beacon
        self.before = before
    }

    /// Whether what happened at a date is to be forgotten.
    func covers(_ date: WallDate) -> Bool { before.map { date < $0 } ?? true }

    /// Whether a condition is this very beacon: whatever is said of it is said of the beacon.
    package func isExactly(_ condition: Condition) -> Bool {
        guard case .beacon(let identity) = condition else { return false }
        return identity.uuid == beacon.uuid && identity.major == beacon.major && identity.minor == beacon.minor
    }
}

/// What an erasure came to.
package struct ErasureCounts: Sendable, Hashable {
    /// Lines of the beacon's own that say nothing any more but their number and date.
    package var erased = 0
    /// Lines of others out of which something was taken that told of it.
    package var cleared = 0
    /// Places where what is no line any more named it: blank now.
    package var damaged = 0

    /// Whether nothing told of it.
    package var isEmpty: Bool { self == ErasureCounts() }
}
