import AdapterScanning
import OperatorLogging
import SystemPackage

/// Drops the capabilities of the process that no backend needs any more.
struct CapabilityKeeper {
    private let process: ProcessCapabilities
    private let log: (MessageKind, String) -> Void
    /// The needed capabilities; `nil` until a backend is in use.
    private var kept: CapabilityNeeds?

    /// The capabilities that are not dropped, with reasons.
    var needs: [CapabilityNeeds.Need] { kept?.needs ?? [] }

    /// Creates a keeper that has not dropped anything.
    ///
    /// - Parameters:
    ///   - process: the capabilities of the process.
    ///   - log: receives the messages for the operator.
    init(_ process: ProcessCapabilities, log: @escaping (MessageKind, String) -> Void) {
        self.process = process
        self.log = log
    }

    /// Drops the capabilities that no backend needs according to `status`. It must be called whenever that can have
    /// changed. It does nothing while no backend is in use.
    mutating func update(_ status: ScanStatus) {
        guard status.backend != nil else { return }
        let needs = CapabilityNeeds(status.backends, used: status.backend, present: process.present())
        guard needs != kept else { return }
        let isNew = needs.capabilities != kept?.capabilities
        kept = needs
        guard isNew else { return }
        do throws(Errno) {
            try process.drop(needs.capabilities)
        } catch {
            log(.capabilityNotDropped, "the capabilities can't be dropped: \(error)")
        }
        for need in needs.needs { log(.capabilityKept, "keeps \(need.capability.name): \(need.why)") }
    }

    /// Returns why scanning cannot be started again with other settings; `nil` if it can. The reason is that a backend
    /// is open whose capability for opening was dropped, so it could not be opened a second time.
    func reasonToKeepScanning(_ status: ScanStatus) -> String? {
        let present = process.present()
        for entry in status.backends where entry.isOpen {
            guard let capability = entry.capabilityToBegin, !present.contains(capability) else { continue }
            return "\(entry.backend.rawValue) can't be opened again, because \(capability.name) was dropped"
        }
        return nil
    }
}
