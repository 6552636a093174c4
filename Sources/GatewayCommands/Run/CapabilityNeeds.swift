import AdapterScanning
import SystemPackage

/// The capabilities that the backends can still need, each with the reason.
///
/// The process drops all others as soon as a backend is in use, and again after each change. A process cannot get a
/// dropped capability back.
struct CapabilityNeeds: Equatable {
    /// A capability that is not dropped.
    struct Need: Equatable {
        let capability: Capabilities.Capability
        /// The reason, for operators.
        let why: String
    }

    /// The needed capabilities that this process has.
    let needs: [Need]

    var capabilities: Set<Capabilities.Capability> { Set(needs.map(\.capability)) }

    /// Determines the needed capabilities.
    ///
    /// - Parameters:
    ///   - backends: the states of the backends, the best first.
    ///   - used: the backend in use.
    ///   - present: the capabilities that this process has.
    init(_ backends: [ScanStatus.BackendStatus], used: ScannerBackend?, present: Set<Capabilities.Capability>) {
        var reasons: [Capabilities.Capability: [String]] = [:]
        for entry in backends where !entry.isDenied {
            switch entry.backend {
            case .management:
                // The kernel checks the capability when the socket is bound. If `management` is open, nothing else is
                // needed: if it waits for an adapter, any other backend would wait too.
                if entry.isOpen {
                    needs = []
                    return
                }
                reasons[.networkAdministration, default: []].append(
                    "management is tried again and must bind its socket")
            case .dbus, .capture: break
            case .hci:
                // Without CAP_NET_RAW, CAP_NET_ADMIN is of no use to this backend.
                guard present.contains(.rawNetwork) else { continue }
                let when = used == .hci ? "" : ", if bluetoothd stops,"
                reasons[.rawNetwork, default: []].append("hci\(when) opens the channel of each new adapter")
                reasons[.networkAdministration, default: []].append("hci\(when) switches adapters on and resets them")
            }
        }
        needs = Capabilities.Capability.allCases.filter { present.contains($0) }.compactMap { capability in
            reasons[capability].map { Need(capability: capability, why: $0.joined(separator: "; ")) }
        }
    }
}

/// The capabilities of a process, read from and changed in the kernel unless a test replaces the closures.
struct ProcessCapabilities {
    /// Returns the capabilities that the process has.
    var present: () -> Set<Capabilities.Capability> = {
        Set(Capabilities.Capability.allCases.filter { Capabilities.has($0) })
    }
    /// Drops all capabilities except these.
    var drop: (Set<Capabilities.Capability>) throws(Errno) -> Void = { kept throws(Errno) in
        try Capabilities.drop(keeping: kept)
    }
}

extension ScanStatus.BackendStatus {
    /// The capability for opening this backend; `nil` if it needs none. The process can have dropped it since.
    var capabilityToBegin: Capabilities.Capability? {
        switch backend {
        case .management: .networkAdministration
        case .hci: .rawNetwork
        case .dbus, .capture: nil
        }
    }
}

extension Capabilities.Capability {
    /// The name in capabilities(7).
    var name: String {
        switch self {
        case .networkAdministration: "CAP_NET_ADMIN"
        case .rawNetwork: "CAP_NET_RAW"
        }
    }
}
