import Synchronization

/// Keeps the machine from suspending while it is held, so that monitoring goes on.
///
/// Source: Apple, `CLBackgroundActivitySession`, which keeps an app's updates coming in the background. On Linux a process
/// that runs is never put to sleep by itself; what would stop it from hearing is a machine that suspends. So what there is
/// to hold is an inhibitor of the suspension (the `BackgroundActivity` library's `LogindInhibitor`), and nothing where no
/// such service runs. It ends at ``invalidate()`` and when it is discarded.
///
/// It keeps no process alive: that is systemd's `Restart=`. What a process knew is there again after its end by a
/// ``RecordStore`` (rule N4), session or not. A suspension that comes nevertheless, because somebody closed the lid or a
/// privileged user insisted, is handled as rule L6 has it: nobody leaves by it.
public final class BackgroundActivitySession: Sendable {
    /// What a session came to.
    public enum Standing: Sendable, Hashable {
        /// The machine does not suspend while the session is held.
        case held
        /// Nothing has to be held here, and why: nobody on this machine suspends it.
        case unneeded(String)
        /// It was refused or could not be asked for, and why; monitoring goes on, and stops while the machine sleeps.
        case refused(String)
        /// The session has ended.
        case ended
    }

    /// What became of asking; absent once the session has ended. What is held goes with it.
    private let grant: Mutex<BackgroundActivityGrant?>

    /// Begins a session.
    ///
    /// It asks once, and waits for the answer, at most some seconds.
    /// - Parameters:
    ///   - reason: why, for whoever wonders what keeps the machine awake (`systemd-inhibit --list`).
    ///   - provider: what keeps a machine awake.
    public init(reason: String, provider: some BackgroundActivityProvider) {
        grant = Mutex(provider.begin(reason: reason))
    }

    /// Whether the machine is kept awake by it, and why not where it is not.
    public var standing: Standing {
        grant.withLock { grant in
            switch grant {
            case .held: .held
            case .unneeded(let why): .unneeded(why)
            case .refused(let why): .refused(why)
            case nil: .ended
            }
        }
    }

    /// The flags that it raises: `authorizationDenied` where it was refused.
    public var diagnostics: Diagnostics {
        if case .refused = standing { .authorizationDenied } else { [] }
    }

    /// Ends the session: the machine may suspend again. Once is enough.
    public func invalidate() {
        // Let go of outside the lock: it is somebody else's code.
        let former = grant.withLock { $0.take() }
        _ = consume former
    }
}

/// What keeps a machine from suspending.
public protocol BackgroundActivityProvider: Sendable {
    /// Asks for it.
    ///
    /// - Parameter reason: why, in words for people.
    /// - Returns: what was granted; it holds until it is let go.
    func begin(reason: String) -> BackgroundActivityGrant
}

/// What became of asking.
public enum BackgroundActivityGrant: Sendable {
    /// The machine stays awake for as long as the object is there.
    case held(any BackgroundActivityAssertion)
    /// Nothing has to be held here, and why.
    case unneeded(String)
    /// It was refused or could not be asked for: why, and what to do.
    case refused(String)
}

/// Something whose being there keeps the machine awake; it lets go when it is discarded.
public protocol BackgroundActivityAssertion: AnyObject, Sendable {}
