import BaseTypes
import BluetoothLE

/// The state of one adapter in a supervisor.
struct AdapterWatch {
    let number: Int
    /// The name in lines: the kernel's, unless the backend reports another one.
    var name: String
    var controller = ""
    /// The controller's address, if it is known. It is kept while the adapter is absent.
    var address: DeviceAddress?
    var isPresent = false
    /// Whether the adapter's scanner reports that it scans.
    var isScanning = false
    /// Whether the handler was notified that the adapter is listening.
    var isReportedListening = false
    var reportedListeningAt: Instant = .earliest
    /// Whether a report was received since the handler was notified.
    var isProven = false
    /// How long the adapter has counted as listening since its last report, without the current period.
    var unproven: Duration = .zero
    /// The time at which the adapter has counted as listening for long enough without a report (rule L5), over all
    /// periods since the last report.
    var proofDue: Instant?
    /// Whether a backend that was switched to has not reported yet that the adapter is present.
    var isUnconfirmed = false
    var ladder: WatchdogLadder
    var thinning = ThinningMeter()
    var status: ScanStatus.Adapter

    init(number: Int, options: ScanSupervisor.Options, now: Instant) {
        self.number = number
        name = ScanSupervisor.Options.adapterName(of: number)
        ladder = WatchdogLadder(deafAfter: options.deafAfter, hasSteps: options.hasSteps)
        status = ScanStatus.Adapter(number: number, since: now)
    }

    /// The adapter's activity, derived from the flags of this value.
    var activity: ScanStatus.Activity {
        if isReportedListening { return .listening }
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
