public import BeaconMonitoring
import SystemPackage

/// Prevents the machine from suspending, with an inhibitor lock of systemd-logind.
///
/// The lock blocks `sleep` (suspend and hibernate, if a program without privileges requests them) and `idle` (automatic
/// suspend). It does not block the action of a closed lid, which has a lock of its own. polkit decides who may take
/// such a lock: by default root and the users of an active session. A system service with another user needs a rule for
/// `org.freedesktop.login1.inhibit-block-sleep` and `…-block-idle`.
///
///     let inhibitor = LogindInhibitor(program: "my-gateway")
///     switch inhibitor.begin(reason: "beacons are scanned") {
///     case .held(let lock): locks.append(lock)
///     case .unneeded(let why), .refused(let why): print(why)
///     }
///
/// Source: org.freedesktop.login1(5), `Inhibit(what, who, why, mode)`. It returns a file descriptor, and the lock ends
/// when the descriptor is closed. https://systemd.io/INHIBITOR_LOCKS/
public struct LogindInhibitor: BackgroundActivityProvider {
    /// The holder of the lock in the output of `systemd-inhibit --list`.
    public let program: String
    /// The address of the bus, as in "Server Addresses" of the D-Bus specification. `nil` is the system bus: the value
    /// of DBUS_SYSTEM_BUS_ADDRESS if that is set, otherwise the default address.
    public let busAddress: String?

    /// The argument `what` of `Inhibit`: the operations that the lock blocks.
    static let what = "sleep:idle"
    // `delay` would only postpone a suspend, by five seconds by default; after that, no adapter would scan.
    static let mode = "block"

    /// Creates a provider. It does not connect to the bus before ``begin(reason:)``.
    public init(program: String, busAddress: String? = nil) {
        self.program = program
        self.busAddress = busAddress
    }

    /// Requests a lock from logind and waits for the answer: at most 5 s for the bus and 5 s for logind.
    ///
    /// - Parameter reason: the reason in the output of `systemd-inhibit --list`.
    /// - Returns: the lock; the reason why no lock is needed (no bus or no logind); or the reason why it was refused or
    ///   could not be requested.
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

extension BackgroundActivitySession {
    /// Starts a session with an inhibitor lock of systemd-logind, in the name of this program (`LogindInhibitor`).
    ///
    ///     let session = BackgroundActivitySession()
    ///     if case .refused(let why) = session.status { print(why) }
    ///
    /// - Parameter reason: the reason in the output of `systemd-inhibit --list`.
    public convenience init(reason: String = "beacons are monitored") {
        let program = CommandLine.arguments.first.flatMap { FilePath($0).lastComponent?.string }
        self.init(reason: reason, provider: LogindInhibitor(program: program ?? "beacon monitor"))
    }
}
