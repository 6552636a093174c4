import BaseTypes
import BluetoothLE

@testable import BeaconMonitoring

// Named and unnamed beacons (rules P4, P5), written as simply as the rest.
extension ReferenceMonitor {
    func name(_ beacons: Set<BeaconIdentity>, at time: Instant, into actions: inout ActionBuffer) {
        input(at: time, into: &actions) {
            named = beacons
            for entry in entriesByIdentifier { removeUnnamed(from: entry) }
        }
    }

    func isUnnamed(_ beacon: BeaconIdentity, under entry: Entry) -> Bool {
        entry.settings.perBeacon && !named.contains(beacon)
    }

    func removeUnnamed(from entry: Entry) {
        guard entry.settings.unnamed != .track else { return }
        for subject in entry.beacons where isUnnamed(subject.beacon!, under: entry) {
            endVisit(of: subject, entry, reason: .removed)
            forget(subject, entry)
        }
    }

    // MARK: Tokens

    var newBeaconsLeft: Int? { settings.maxNewBeacons == 0 ? nil : tokens }

    /// Gives one token back every 2 s.
    func returnTokens() {
        while nextToken <= now {
            tokens = min(tokens + 1, settings.maxNewBeacons)
            nextToken = nextToken + .seconds(2)
        }
    }

    /// Returns whether a subject may enter: it needs no token, or it takes one. If no token is left, the subject keeps
    /// its qualifying sightings.
    func hasToken(for subject: Subject, _ entry: Entry) -> Bool {
        guard settings.maxNewBeacons > 0, let beacon = subject.beacon, !named.contains(beacon) else { return true }
        if tokens > 0 {
            tokens -= 1
            return true
        }
        refusedBeacons += 1
        lastRefusal = now
        if !entry.refusalRaised {
            entry.refusalRaised = true
            made.append(.trackingLimitExceeded(identifier: entry.identifier.text, .new))
        }
        return false
    }

    /// Ends P5's episode if the last refusal was 60 s ago or earlier. This is called before each event.
    func endRefusalEpisode() {
        guard let lastRefusal, now >= lastRefusal + .seconds(60) else { return }
        for entry in entries { entry.refusalRaised = false }
    }
}
