import BaseTypes
import BluetoothLE

/// What a supervisor keeps of one adapter.
struct AdapterWatch {
    let number: Int
    var controller = ""
    /// The controller's address, where it is known; it stays known while the adapter is away.
    var address: DeviceAddress?
    var isPresent = false
    /// Whether its scanner says that it scans.
    var isScanning = false
    /// Whether the handler has been told that it listens.
    var isTold = false
    var toldAt: Instant = .earliest
    /// Whether a report came since the handler was told.
    var isProven = false
    /// How long it has counted as listening since its last report, in the stretches before the present one.
    var unproven: Duration = .zero
    /// When it has counted as listening for long enough without a report (rule L5), over all stretches since the last.
    var proofDue: Instant?
    /// Whether a way that was changed to has not told yet that the adapter is there.
    var isUnconfirmed = false
    var ladder: WatchdogLadder
    var thinning = ThinningMeter()
    var status: ScanStatus.Adapter

    init(number: Int, deafAfter: Duration?, now: Instant) {
        self.number = number
        ladder = WatchdogLadder(deafAfter: deafAfter)
        status = ScanStatus.Adapter(number: number, since: now)
    }

    var name: String { "hci\(number)" }

    /// What it is doing, by what is known.
    var activity: ScanStatus.Activity {
        if isTold { return .listening }
        if isScanning { return .unproven }
        return isPresent ? .off : .absent
    }

    mutating func note(reason: String, at time: Instant) {
        let activity = activity
        if status.activity != activity { status.since = time }
        status.activity = activity
        status.reason = reason
    }
}
