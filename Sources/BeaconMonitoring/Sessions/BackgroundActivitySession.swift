import Synchronization

/// Prevents the machine from suspending while it is held, so that monitoring continues.
///
/// On Linux, a running process is not suspended by itself, but the whole machine can be. Therefore a session holds an
/// inhibitor of suspension, and nothing if no service suspends the machine. It ends at ``invalidate()`` and when it is
/// discarded. The `BackgroundActivity` library has the inhibitor of systemd-logind, and `BackgroundActivitySession()`,
/// which uses it.
///
/// It does not keep the process alive; use systemd's `Restart=` for that. With a ``RecordStore``, the state of a
/// process is restored after its end (rule N4), with or without a session. If the machine suspends anyway, because the
/// lid is closed or a privileged user requests it, rule L6 applies: no beacon exits because of it.
///
///     let inhibitor = LogindInhibitor(program: "my-gateway")
///     let session = BackgroundActivitySession(reason: "beacons are scanned", provider: inhibitor)
///     if case .refused(let why) = session.status { print(why) }
///
/// Source: Apple, `CLBackgroundActivitySession`, which keeps an app's updates coming in the background.
public final class BackgroundActivitySession: Sendable {
    /// The result of a session.
    public enum Status: Sendable, Hashable {
        /// The machine does not suspend while the session is held.
        case held
        /// No inhibitor is needed: no service on this machine suspends it. The text has the reason.
        case unneeded(String)
        /// The inhibitor was refused or could not be requested, with the reason. Monitoring continues, but stops while
        /// the machine is suspended.
        case refused(String)
        /// The session has ended.
        case ended
    }

    /// The result of the request; `nil` after the end of the session. Discarding it releases the inhibitor.
    private let grant: Mutex<BackgroundActivityGrant?>
    private let flags: LatestValue<Diagnostics>

    /// Starts a session.
    ///
    /// It makes one request and waits for the answer, at most some seconds.
    /// - Parameters:
    ///   - reason: the reason in the output of `systemd-inhibit --list`.
    ///   - provider: the provider of the inhibitor.
    public init(reason: String, provider: some BackgroundActivityProvider) {
        let grant = provider.begin(reason: reason)
        if case .refused = grant { flags = LatestValue(.authorizationDenied) } else { flags = LatestValue([]) }
        self.grant = Mutex(grant)
    }

    deinit { invalidate() }

    /// Whether the machine is kept awake, and the reason if it is not.
    public var status: Status {
        grant.withLock { grant in
            switch grant {
            case .held: .held
            case .unneeded(let why): .unneeded(why)
            case .refused(let why): .refused(why)
            case nil: .ended
            }
        }
    }

    /// The diagnostics of the session as a sequence, until the session ends: `authorizationDenied` if the inhibitor was
    /// refused, otherwise an empty set. ``status`` has the reason.
    ///
    ///     for await flags in session.diagnostics where flags.contains(.authorizationDenied) {
    ///         print(session.status)
    ///     }
    ///
    /// Each loop starts with the present flags, also if the session has ended.
    public var diagnostics: ServiceSession.DiagnosticUpdates {
        ServiceSession.DiagnosticUpdates(source: flags, ignored: [])
    }

    /// Ends the session, so that the machine may suspend again. Further calls have no effect.
    public func invalidate() {
        // Released outside the lock, because it runs code of the provider.
        let former = grant.withLock { $0.take() }
        _ = consume former
        flags.finish()
    }
}

/// A provider of inhibitors of suspension.
public protocol BackgroundActivityProvider: Sendable {
    /// Requests an inhibitor.
    ///
    /// - Parameter reason: the reason, for people.
    /// - Returns: the result. The inhibitor is held until the result is discarded.
    func begin(reason: String) -> BackgroundActivityGrant
}

/// The result of a request for an inhibitor.
public enum BackgroundActivityGrant: Sendable {
    /// The machine does not suspend while the object exists.
    case held(any BackgroundActivityAssertion)
    /// No inhibitor is needed, with the reason.
    case unneeded(String)
    /// The inhibitor was refused or could not be requested: the reason, and what to do.
    case refused(String)
}

/// An object that prevents the machine from suspending until it is discarded.
public protocol BackgroundActivityAssertion: AnyObject, Sendable {}
