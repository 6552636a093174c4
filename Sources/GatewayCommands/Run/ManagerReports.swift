import OperatorLogging
import SystemPackage

/// Notifies the service manager when the gateway is ready, when its status changes, and that it is alive.
///
/// An unchanged status is not sent again. If the manager cannot be notified, the gateway continues, and the manager
/// decides what to do.
final class ManagerReports {
    private let notifier: ServiceNotifier
    private let log: (MessageKind, String) -> Void
    private var lastStatus = ""
    private var isReady = false

    /// How often ``live()`` should be called; `nil` if the manager has no watchdog for this process.
    var watchdogInterval: Duration? { notifier.watchdogInterval }

    /// Creates the reports.
    ///
    /// - Parameters:
    ///   - notifier: sends the notifications to the manager.
    ///   - log: receives the messages for the operator.
    init(_ notifier: ServiceNotifier = ServiceNotifier(), log: @escaping (MessageKind, String) -> Void) {
        self.notifier = notifier
        self.log = log
    }

    /// Sends the status if it has changed, and READY when an adapter scans for the first time.
    ///
    /// It also logs a changed status while no adapter scans.
    func reportStatus(_ text: String, isListening: Bool) {
        if !isReady, isListening {
            isReady = true
            report { () throws(Errno) in try notifier.ready(status: text) }
        }
        guard text != lastStatus else { return }
        lastStatus = text
        report { () throws(Errno) in try notifier.status(text) }
        if !isReady || !isListening { log(.gatewayWaits, text) }
    }

    /// Notifies the watchdog that the gateway is alive.
    func live() { report { () throws(Errno) in try notifier.watchdog() } }

    /// Runs a reload, and notifies the manager of its start and end. If the manager was not notified yet that the
    /// gateway is ready, nothing is sent. READY, which also ends a reload (sd_notify(3)), must not be sent before an
    /// adapter scans.
    func reload(_ body: () -> Void) {
        guard isReady else { return body() }
        report { () throws(Errno) in try notifier.reloading() }
        body()
        report { () throws(Errno) in try notifier.ready(status: lastStatus) }
    }

    /// Notifies the manager that the gateway stops.
    func end() { report { () throws(Errno) in try notifier.stopping(status: "ends") } }

    private func report(_ body: () throws(Errno) -> Void) {
        do throws(Errno) {
            try body()
        } catch {
            log(.managerNotNotified, "systemd can't be notified: \(error)")
        }
    }
}
