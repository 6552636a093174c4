package import BaseTypes
package import BluetoothLE

/// One way to hear the advertising reports of a machine's Bluetooth adapters.
///
/// A scanner lives on the thread of the loop that it was made with. It hands everything over from there, one after the
/// other, and waits nowhere else.
package protocol AdvertisingScanner: AnyObject {
    /// Which way it is.
    var backend: ScannerBackend { get }

    /// Begins to hear, on the adapters that there are and those that come, and to tell `handler` of it.
    ///
    /// It comes back by itself after everything that happens to an adapter, to bluetoothd or to the bus, driven by events.
    /// - Throws: ``ScannerError`` where this way is closed to this user or on this machine.
    func start(_ handler: any ScanHandler) throws(ScannerError)

    /// Hands over everything that has been received up to the call (rule T5), without waiting.
    func drain()

    /// Takes a step of the watchdog's ladder on one adapter. What comes of it is told to the handler as it happens.
    func take(_ step: WatchdogStep, on adapter: Int) -> WatchdogStep.Outcome

    /// Ends hearing and undoes what this scanner changed on the machine. Nothing is handed over afterwards.
    func stop()
}

/// Who takes what a scanner hears. Each call is made on the loop's thread.
package protocol ScanHandler: AnyObject {
    /// An adapter gave an advertising report, of whatever kind.
    ///
    /// - Parameters:
    ///   - report: as the controller gave it; `report.data` stands in `data`. Whole: fragments have been put together.
    ///   - data: its AD structures, not checked yet; they hold until this returns.
    ///   - adapter: the kernel's number of the adapter: 0 for `hci0`.
    ///   - time: when it was received (rule T1), never later than the call.
    func heard(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant)

    /// Something became of an adapter, or of this way of hearing.
    ///
    /// - Parameters:
    ///   - change: what changed.
    ///   - time: when it was received, as for a report, or noticed; a loss has the time of the last message before it.
    func changed(_ change: ScanChange, at time: Instant)
}

/// The ways to hear, as `scanner.backend` in the configuration names them.
package enum ScannerBackend: String, Sendable, Hashable, CaseIterable {
    /// The kernel's management socket with an advertisement monitor.
    case management
    /// bluetoothd over D-Bus.
    case dbus
    /// The raw HCI channel.
    case hci
}

/// What became of an adapter, or of a way of hearing.
package enum ScanChange: Sendable, Hashable {
    /// The adapter is there; `controller` says what it is, for people, and `address` which one (rule L7): absent where it has
    /// none, or this way does not tell.
    case appeared(adapter: Int, controller: String, address: DeviceAddress? = nil)
    /// The adapter is no longer there; what it listened for has been told to have stopped before.
    case disappeared(adapter: Int)
    /// The adapter listens from this moment on: it scans, and what it hears comes here (rules L1, L4).
    case listening(adapter: Int, reason: String)
    /// The adapter stopped listening at `since`, which is not later than the moment of the change (rules L1, L2).
    case stopped(adapter: Int, since: Instant, reason: String)
    /// Reports of the adapter were lost before they came here, between its last report at `since` and the next (rule T5).
    /// `count` is how many messages the kernel dropped, where it tells.
    case lost(adapter: Int, count: Int, since: Instant)
    /// The adapter can't listen before `step` was taken; what ails it is known, and `reason` says it. The watchdog takes the
    /// step at once, where it has nothing better to do.
    case needs(adapter: Int, step: WatchdogStep, reason: String)
    /// What stands in the way as a whole, all of it; empty where nothing does.
    case obstacles(Set<ScanObstacle>)
    /// This way of hearing has ended and does not come back by itself.
    case ended(ScannerError)
}

/// What stands between this way of hearing and its reports. `docs/monitor.md`, “Diagnostics”, has the flags.
package enum ScanObstacle: Sendable, Hashable, CaseIterable {
    /// D-Bus policy, polkit or the kernel refuses this user: `authorizationDenied`.
    case denied
    /// rfkill blocks Bluetooth, by software: `authorizationDeniedGlobally`.
    case blocked
    /// rfkill blocks Bluetooth with a switch: `authorizationRestricted`, and `authorizationDeniedGlobally`.
    case blockedByHardware
    /// bluetoothd, or an adapter's power, is being waited for: `authorizationRequestInProgress`.
    case waiting
    /// bluetoothd does not run where it is needed, or no adapter is there: `serviceUnavailable`.
    case unavailable
    /// Reports are thinned out: `accuracyLimited`.
    case thinned
}
