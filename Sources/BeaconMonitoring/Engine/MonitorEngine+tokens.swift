import BluetoothLE

/// How many beacons without a name may enter (rule P5).
struct NewBeaconTokens: Sendable {
    /// How often one comes back.
    static let interval: Int64 = 2_000_000_000

    /// The most there are; 0: any number.
    let most: Int
    private let start: Int64
    private var left: Int
    /// How many times one has come back, or could have.
    private var returned: Int64 = 0

    init(most: Int, start: Int64) {
        self.most = most
        self.start = start
        left = most
    }

    /// Those that are left at `time`.
    mutating func left(at time: Int64) -> Int {
        let returned = (time - start) / Self.interval
        left = Int(min(Int64(most), Int64(left) + (returned - self.returned)))
        self.returned = returned
        return left
    }

    /// Takes one, where there is one.
    mutating func take(at time: Int64) -> Bool {
        guard most > 0 else { return true }
        guard left(at: time) > 0 else { return false }
        left -= 1
        return true
    }
}

// New beacons without a name enter at a bounded rate (rule P5).
extension MonitorEngine {
    /// How long after the last refusal an episode ends, in nanoseconds.
    private static let quietAfterRefusal: Int64 = 60_000_000_000

    /// How many beacons without a name could enter now; absent where any number can (rule P5).
    public var newBeaconsLeft: Int? {
        guard tokens.most > 0 else { return nil }
        var tokens = tokens
        return tokens.left(at: present)
    }

    /// The flags that hold now, whatever becomes of whom: those that the world outside raises, and
    /// `trackingLimitExceeded` while a limit is run into (rules P2, P4, P5).
    public var presentDiagnostics: Diagnostics {
        let isRefusing = refusingCount > 0 && present - lastRefusal < Self.quietAfterRefusal
        return overflowingCount > 0 || isRefusing
            ? ambientDiagnostics.union(.trackingLimitExceeded) : ambientDiagnostics
    }

    /// Whether a subject whose sightings suffice may enter: a beacon without a name needs a token, and stays on its way in
    /// where none is left.
    @inline(__always)
    mutating func mayEnter(_ subject: Int, into actions: inout ActionBuffer) -> Bool {
        guard subjects[subject].isBeacon, !subjects[subject].isNamed, !tokens.take(at: present) else { return true }
        refuse(subject, into: &actions)
        return false
    }

    private mutating func refuse(_ subject: Int, into actions: inout ActionBuffer) {
        refusedBeacons &+= 1
        lastRefusal = present
        let condition = Int(subjects[subject].condition)
        // The next that qualifies tries again, with the latest of those before it.
        let before = conditions[condition].settings.enterCount - 1
        details[subject].progress.append(present)
        details[subject].progress.removeFirst(max(details[subject].progress.count - before, 0))
        guard !conditions[condition].isRefusing else { return }
        conditions[condition].isRefusing = true
        refusingCount += 1
        actions.append(.trackingLimitExceeded(identifier: conditions[condition].identifier.text, .new))
    }

    /// Ends the episode in which beacons were refused, where an event comes long enough after the last.
    mutating func endRefusing() {
        guard present - lastRefusal >= Self.quietAfterRefusal else { return }
        refusingCount = 0
        for index in conditions.indices { conditions[index].isRefusing = false }
    }
}
