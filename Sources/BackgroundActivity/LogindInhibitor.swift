public import BeaconMonitoring

/// Keeps the machine awake by an inhibitor lock of systemd-logind.
///
/// Source: org.freedesktop.login1(5), `Inhibit(what, who, why, mode)`, which gives a descriptor; the lock is there until it
/// is closed. https://systemd.io/INHIBITOR_LOCKS/
///
/// What it blocks is `sleep` (suspending and hibernating, whoever asks without privileges) and `idle` (the automatic
/// kind). A closed lid is handled by its own lock and is not blocked. polkit decides who may block: root and users of an
/// active session may, by default; a system service of another user needs a rule for
/// `org.freedesktop.login1.inhibit-block-sleep` and `…-block-idle`.
public struct LogindInhibitor: BackgroundActivityProvider {
    /// Who holds the lock, as `systemd-inhibit --list` shows it.
    public let program: String
    /// The bus, as the D-Bus specification's "Server Addresses" writes it; `nil` for the system bus, which is what
    /// DBUS_SYSTEM_BUS_ADDRESS says, if it is set.
    public let busAddress: String?

    /// What is inhibited, and how.
    static let what = "sleep:idle"
    // `delay` would only postpone the suspension, by five seconds by default. Then the adapters would not scan.
    static let mode = "block"

    /// Makes one that has asked for nothing yet.
    public init(program: String, busAddress: String? = nil) {
        self.program = program
        self.busAddress = busAddress
    }

    /// Asks logind for a lock, and waits for its answer, at most 5 s for the bus and 5 s for logind.
    public func begin(reason: String) -> BackgroundActivityGrant {
        do throws(LogindFailure) {
            let call = LogindCall(
                address: busAddress ?? LogindCall.systemBus, what: Self.what, who: program, why: reason,
                mode: Self.mode)
            return .held(InhibitorLock(try call.inhibit()))
        } catch {
            switch error {
            case .noBus(let why):
                return .unneeded("there is no message bus, so systemd-logind cannot suspend this machine: \(why)")
            case .noService:
                return .unneeded("systemd-logind does not run, and no other program is known to suspend this machine")
            case .refused(let why):
                return .refused(
                    """
                    systemd-logind refuses the lock: \(why); polkit's action org.freedesktop.login1.inhibit-block-sleep \
                    must be allowed to this user
                    """)
            case .silent(let why): return .refused("systemd-logind gave no lock: \(why)")
            }
        }
    }
}
