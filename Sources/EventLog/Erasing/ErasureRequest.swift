package import BeaconMonitoring
package import BluetoothLE

/// A beacon to erase, with an optional date limit.
package struct ErasureRequest: Sendable, Hashable {
    /// The beacon.
    package let beacon: BeaconIdentity
    /// Only data from before this date are erased; `nil` means all.
    package let before: WallDate?

    /// Creates a request.
    package init(_ beacon: BeaconIdentity, before: WallDate? = nil) {
        self.beacon = beacon
        self.before = before
    }

    /// Returns whether an event with a date must be erased.
    func covers(_ date: WallDate) -> Bool { before.map { date < $0 } ?? true }

    /// Returns whether a condition matches exactly this beacon, so that all of its data concern the beacon.
    package func isExactly(_ condition: Condition) -> Bool {
        guard case .beacon(let identity) = condition else { return false }
        return identity.uuid == beacon.uuid && identity.major == beacon.major && identity.minor == beacon.minor
    }
}

/// The result of an erasure.
package struct ErasureCounts: Sendable, Hashable {
    /// The number of lines of the beacon that now have only their number and date.
    package var erased = 0
    /// The number of other lines from which data about the beacon were removed.
    package var cleared = 0
    /// The number of places in damaged lines that contained the beacon and were overwritten with spaces.
    package var damaged = 0

    /// Whether nothing contained the beacon.
    package var isEmpty: Bool { self == ErasureCounts() }
}
