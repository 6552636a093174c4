package import BaseTypes
package import BluetoothLE

/// A backend that receives the advertising reports of a machine's Bluetooth adapters.
///
/// A scanner runs on the thread of the event loop that it was created with. It makes all calls of its handler there,
/// one after the other, and waits only in that loop.
package protocol AdvertisingScanner: AnyObject {
    /// The kind of backend.
    var backend: ScannerBackend { get }

    /// Starts to scan on all adapters, present and future, and reports to `handler`.
    ///
    /// The scanner recovers automatically from all failures of an adapter, bluetoothd or the bus. It is driven by
    /// events; an operation that failed is retried after a pause.
    /// - Throws: ``ScannerError`` if this user or this machine cannot use the backend.
    func start(_ handler: any ScanHandler) throws(ScannerError)

    /// Delivers everything that was received up to the call (rule T5), without waiting.
    func drain()

    /// Takes a step of the watchdog's ladder on one adapter. The handler is notified of each effect when it happens.
    func take(_ step: WatchdogStep, on adapter: Int) -> WatchdogStep.Outcome

    /// Stops scanning and undoes everything that this scanner changed on the machine. The handler is not called
    /// afterwards.
    func stop()
}

/// Receives the reports and changes of a scanner. All calls are made on the thread of the event loop.
package protocol ScanHandler: AnyObject {
    /// Called when an adapter received an advertising report of any kind.
    ///
    /// - Parameters:
    ///   - report: the report as the controller sent it, reassembled from fragments. The bytes of `report.data` are in
    ///     `data`.
    ///   - data: the AD structures, not validated yet; valid only during the call.
    ///   - adapter: the kernel's number of the adapter: 0 for `hci0`.
    ///   - time: when it was received (rule T1), never later than the call.
    func received(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant)

    /// Called when the state of an adapter or of this backend changed.
    ///
    /// - Parameters:
    ///   - change: the change.
    ///   - time: when it was received, as for a report, or noticed. A loss has the time of the last message before it.
    func changed(_ change: ScanChange, at time: Instant)
}

/// The backends. The first three have the names that `scanner.backend` in the configuration uses.
package enum ScannerBackend: String, Sendable, Hashable {
    /// The kernel's management socket with an advertisement monitor.
    case management
    /// bluetoothd over D-Bus.
    case dbus
    /// The raw HCI channel.
    case hci
    /// A capture, or another program, instead of the machine's adapters. It is used only on request.
    case capture

    /// The backends for the machine's adapters, the best first.
    package static let ofMachine: [ScannerBackend] = [.management, .dbus, .hci]
}

/// A change of the state of an adapter or of a backend.
package enum ScanChange: Sendable, Hashable {
    /// The adapter is present. `controller` describes it for operators. `address` identifies it (rule L7); `nil` if it
    /// has no address or the backend does not report one.
    case appeared(adapter: Int, controller: String, address: DeviceAddress? = nil)
    /// The adapter is no longer present. If it was listening, ``stopped(adapter:since:reason:)`` was reported before.
    case disappeared(adapter: Int)
    /// The adapter is listening from this time on: it scans, and its reports are received here (rules L1, L4).
    case listening(adapter: Int, reason: String)
    /// The adapter stopped listening at `since`, which is not later than the time of the change (rules L1, L2).
    case stopped(adapter: Int, since: Instant, reason: String)
    /// Reports of the adapter were lost before they were received here, between its last report at `since` and the next
    /// (rule T5). `count` is the number of messages that the kernel dropped, if the kernel counts them.
    case lost(adapter: Int, count: Int, since: Instant)
    /// The adapter cannot scan until `step` was taken. The cause is known, and `reason` states it. The watchdog takes
    /// the step at once, except in the cases that ``WatchdogLadder/needs(_:at:)`` lists.
    case needs(adapter: Int, step: WatchdogStep, reason: String)
    /// A change in the capture that is used in place of adapters.
    case capture(CaptureChange)
    /// The complete set of present obstacles to this backend; empty if there are none.
    case obstacles(Set<ScanObstacle>)
    /// This backend has stopped and does not restart by itself.
    case ended(ScannerError)
}

/// A change of an adapter in a capture, which `run --from` uses in place of the machine's adapters (rules L4, L7). The
/// numbers of adapters are their indices in the capture.
package enum CaptureChange: Sendable, Hashable {
    /// The adapter is known from now on, or another controller has its name. `listens` is whether it scans then, if
    /// this is its first record. `controller` is the name of the capture.
    case added(adapter: Int, name: String, address: DeviceAddress?, controller: String, listens: Bool)
    /// The capture says that the adapter scans, or that it does not; if that was noticed later, since `since`.
    case marked(adapter: Int, isListening: Bool, since: Instant?)
    /// It is unknown when the following reports were received: all adapters stopped at their last report (rule T5).
    case interrupted(reason: String)
    /// The capture has ended, and the numbers of its adapters are free.
    case ended(reason: String)
}

/// A reason why a backend delivers no reports, or not all. `docs/monitor.md`, “Diagnostics”, has the flags.
package enum ScanObstacle: Sendable, Hashable, CaseIterable {
    /// D-Bus policy, polkit or the kernel refuses this user: `authorizationDenied`.
    case denied
    /// rfkill blocks Bluetooth, by software: `authorizationDeniedGlobally`.
    case blocked
    /// rfkill blocks Bluetooth with a switch: `authorizationRestricted`, and `authorizationDeniedGlobally`.
    case blockedByHardware
    /// The backend waits for bluetoothd or for the power of an adapter: `authorizationRequestInProgress`.
    case waiting
    /// bluetoothd is needed but does not run, or no adapter is present: `serviceUnavailable`.
    case unavailable
    /// Reports are thinned out, for example because the controller filters duplicates: `accuracyLimited`.
    case thinned
}
