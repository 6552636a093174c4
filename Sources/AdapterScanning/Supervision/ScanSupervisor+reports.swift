import BaseTypes
import BluetoothLE
import EventLoops
import OperatorLogging

// The path of a report: nothing on it allocates for a beacon that is known.
extension ScanSupervisor {
    func heard(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
        guard let place = place(of: adapter) else {
            overall.reportsOfOthers &+= 1
            return
        }
        watches[place].status.reports &+= 1
        if watches[place].status.lastReport.map({ $0 < time }) ?? true { watches[place].status.lastReport = time }
        let isCanary = noteBeacons(in: data, on: adapter, place, at: time)
        let isProof = isCanary || !(canary?.isJudged(adapter) ?? false)
        if isProof { prove(place, at: time) }
        if isCanary { heardCanary(on: adapter, at: time) }
        guard watches[place].isTold || isProof else {
            watches[place].status.withheld &+= 1
            return
        }
        // A report is proof, also of an adapter that nobody said listens.
        if !watches[place].isTold { tellListening(place, reason: "a report came", at: time) }
        watches[place].isProven = true
        loop.restAfterTurn(for: rest)
        handler?.heard(report, data: data, on: adapter, at: time)
    }

    /// How long what comes may lie where it is. What D-Bus brings has no time of its own: it counts when it is read.
    private var rest: Duration {
        chooser.used.map { chooser.backend(of: $0) } == .dbus
            ? min(options.latency, Self.latencyUnstamped) : options.latency
    }

    /// Has the iBeacons of a report learnt from.
    ///
    /// - Returns: whether the canary is among them.
    private func noteBeacons(in data: Span<UInt8>, on adapter: Int, _ place: Int, at time: Instant) -> Bool {
        var isCanary = false
        var structures = ADStructures()
        // What is malformed ends it here, and is counted where the sightings are made.
        while let beacon = try? structures.nextBeacon(in: data) {
            let identity = beacon.identity
            if canary?.canary.matches(identity) ?? false { isCanary = true }
            if let due = cadence.heard(identity, on: adapter, at: time) { judge(due) }
            if watches[place].thinning.heard(identity, at: time) { thinningChanged(place, at: time) }
        }
        return isCanary
    }

    private func prove(_ place: Int, at time: Instant) {
        watches[place].unproven = .zero
        watches[place].proofDue = nil
        guard let recovery = watches[place].ladder.heard(at: time) else { return }
        let after = recovery.step.map { "; the last step was to \($0.words)" } ?? ""
        log(
            .adapterHearsAgain,
            "\(watches[place].name) hears again after \(recovery.silence.inSeconds) s of silence\(after)")
    }

    @inline(never)
    private func heardCanary(on adapter: Int, at time: Instant) {
        guard let released = canary?.heard(on: adapter, at: time), !released.isEmpty else { return }
        for number in released {
            guard let place = place(of: number), watches[place].isScanning, !watches[place].isTold else { continue }
            log(.canaryHeard, "\(watches[place].name): the canary is heard again")
            tellListening(place, reason: "the canary is heard", at: time)
        }
    }

    @inline(never)
    private func judge(_ due: CadenceMeter.Due) {
        switch cadence.judge(due, exitTimeout: exitTimeout(due.beacon)) {
        case .tooShort(let cadence, let exitTimeout):
            // The first ones tell what is wrong; all stand in the status.
            guard self.cadence.tooShort <= 16 else { return }
            log(.beaconTooRare, cadence.warning(exitTimeout: exitTimeout))
        case .bearable(let cadence, let exitTimeout):
            log(
                .beaconOftenEnough,
                "beacon \(cadence.beacon.words) is heard often enough again for exit_timeout \(exitTimeout.inSeconds) s"
            )
        case nil: break
        }
    }

    private func thinningChanged(_ place: Int, at time: Instant) {
        let name = watches[place].name
        if watches[place].thinning.isThinned {
            log(
                .duplicatesFiltered,
                """
                \(name) gives one report per beacon and scan of 10.24 s: its controller filters duplicates, and exits are \
                coarser; CAP_NET_ADMIN opens the management backend, which hears all
                """)
        } else {
            log(.duplicatesHeard, "\(name) gives every report again")
        }
        tellObstacles(at: time)
    }
}

extension Cadence {
    /// What is wrong where an exit timeout is too short, with figures, for operators.
    package func warning(exitTimeout: Duration) -> String {
        """
        beacon \(beacon.words) is heard too rarely for exit_timeout \(exitTimeout.inSeconds) s: of \(gaps) gaps half are up to \
        \(median.inSeconds) s, 99 of 100 up to \(p99.inSeconds) s, the longest \(longest.inSeconds) s; \
        set exit_timeout to \(bearable.inSeconds) s at least, or have the beacon advertise more often
        """
    }
}

extension BeaconIdentity {
    var words: String { "\(uuid) \(numbers)" }
}

extension WatchdogStep {
    /// What it does, as in “to …”, for operators.
    package var words: String {
        switch self {
        case .widen: "listen for more"
        case .restartScan: "restart the scan"
        case .powerCycle: "switch the adapter off and on"
        case .reset: "reset the adapter"
        }
    }
}
