import OperatorLogging
import SystemPackage

/// What the service manager has been told: that the gateway is ready, how it stands, that it lives.
///
/// Nothing is said twice. Where the manager can't be told, the gateway goes on, and the manager draws its own conclusions.
final class ManagerReports {
    private let notifier: ServiceNotifier
    private let log: (MessageKind, String) -> Void
    private var standing = ""
    private var isReady = false

    /// How often ``live()`` should be called; absent where nobody watches.
    var watchdogInterval: Duration? { notifier.watchdogInterval }

    /// - Parameters:
    ///   - notifier: who speaks with the manager.
    ///   - log: takes lines for the operator.
    init(_ notifier: ServiceNotifier = ServiceNotifier(), log: @escaping (MessageKind, String) -> Void) {
        self.notifier = notifier
        self.log = log
    }

    /// Tells how the gateway stands, where that is something else than before; that it is ready once it listens.
    ///
    /// Operators are told too, as long as it waits.
    func stand(_ text: String, isListening: Bool) {
        if !isReady, isListening {
            isReady = true
            tell { () throws(Errno) in try notifier.ready(status: text) }
        }
        guard text != standing else { return }
        standing = text
        tell { () throws(Errno) in try notifier.status(text) }
        if !isReady || !isListening { log(.gatewayWaits, text) }
    }

    /// The gateway lives.
    func live() { tell { () throws(Errno) in try notifier.watchdog() } }

    /// Does a reload, of whose beginning and end the manager is told, unless it still waits to be told that the gateway is
    /// ready: the end of a reload is the same word (sd_notify(3)), and the gateway does not listen yet.
    func reload(_ body: () -> Void) {
        guard isReady else { return body() }
        tell { () throws(Errno) in try notifier.reloading() }
        body()
        tell { () throws(Errno) in try notifier.ready(status: standing) }
    }

    /// The gateway ends.
    func end() { tell { () throws(Errno) in try notifier.stopping(status: "ends") } }

    private func tell(_ body: () throws(Errno) -> Void) {
        do throws(Errno) {
            try body()
        } catch {
            log(.managerNotNotified, "systemd can't be notified: \(error)")
        }
    }
}
