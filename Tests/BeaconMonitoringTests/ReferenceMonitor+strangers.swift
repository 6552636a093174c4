import BaseTypes
import BluetoothLE

@testable import BeaconMonitoring

// Beacons with and without names (rules P4, P5), as naively as the rest.
extension ReferenceMonitor {
    func name(_ beacons: Set<BeaconIdentity>, at time: Instant, into actions: inout ActionBuffer) {
        input(at: time, into: &actions) {
            named = beacons
            for entry in entriesByIdentifier { removeStrangers(from: entry) }
        }
    }

    func isStranger(_ beacon: BeaconIdentity, under entry: Entry) -> Bool {
        entry.settings.perBeacon && !named.contains(beacon)
    }

    func removeStrangers(from entry: Entry) {
        guard entry.settings.strangers != .track else { return }
        for subject in entry.beacons where isStranger(subject.beacon!, under: entry) {
            endVisit(of: subject, entry, reason: .removed)
            forget(subject, entry)
        }
    }

    // MARK: Tokens

    var newBeaconsLeft: Int? { settings.maxNewBeacons == 0 ? nil : tokens }

    /// One comes back every 2 s.
    func returnTokens() {
        while nextToken <= now {
            tokens = min(tokens + 1, settings.maxNewBeacons)
            nextToken = nextToken + .seconds(2)
        }
    }

    /// Takes a token for a subject that needs one; without, what it has of qualifying sightings stays with it.
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

    /// P5's episode ends at the first event 60 s or more after the last refusal.
    func endRefusalEpisode() {
        guard let lastRefusal, now >= lastRefusal + .seconds(60) else { return }
        for entry in entries { entry.refusalRaised = false }
    }
}
