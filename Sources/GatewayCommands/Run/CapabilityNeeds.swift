import AdapterScanning
import SystemPackage

/// The capabilities that the ways of hearing may still need, each with what for.
///
/// All others are given up as soon as the ways stand. What was given up does not come back to a process.
struct CapabilityNeeds: Equatable {
    /// One that is kept.
    struct Need: Equatable {
        let capability: Capabilities.Capability
        /// For operators.
        let why: String
    }

    /// Those that this process has and keeps.
    let needs: [Need]

    var capabilities: Set<Capabilities.Capability> { Set(needs.map(\.capability)) }

    /// - Parameters:
    ///   - ways: how the ways stand, the best first.
    ///   - used: the one that is used.
    ///   - present: the capabilities that this process has.
    init(_ ways: [ScanStatus.Way], used: ScannerBackend?, present: Set<Capabilities.Capability>) {
        var reasons: [Capabilities.Capability: [String]] = [:]
        for way in ways where !way.isDenied {
            switch way.backend {
            case .management:
                // The kernel looks when the socket is bound. With it nothing else is needed: where it waits for an
                // adapter, any other way would as well.
                if way.isOpen {
                    needs = []
                    return
                }
                reasons[.networkAdministration, default: []].append(
                    "management is tried again and must bind its socket")
            case .dbus: break
            case .hci:
                // Without the one the other is of no use to it.
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

/// The capabilities of a process, read from and changed in the kernel unless a test replaces it.
struct ProcessCapabilities {
    /// Returns the capabilities that the process has.
    var present: () -> Set<Capabilities.Capability> = {
        Set(Capabilities.Capability.allCases.filter { Capabilities.has($0) })
    }
    /// Gives up all capabilities except these.
    var drop: (Set<Capabilities.Capability>) throws(Errno) -> Void = { kept throws(Errno) in
        try Capabilities.drop(keeping: kept)
    }
}

extension ScanStatus.Way {
    /// What it takes to begin this way, which a process that has begun it may have given up since.
    var capabilityToBegin: Capabilities.Capability? {
        switch backend {
        case .management: .networkAdministration
        case .hci: .rawNetwork
        case .dbus: nil
        }
    }
}

extension Capabilities.Capability {
    /// As capabilities(7) spells it.
    var name: String {
        switch self {
        case .networkAdministration: "CAP_NET_ADMIN"
        case .rawNetwork: "CAP_NET_RAW"
        }
    }
}
