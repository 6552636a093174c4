import AdapterScanning
import OperatorLogging
import SystemPackage

/// Gives up what this process may and no way of hearing needs any more.
struct CapabilityKeeper {
    private let process: ProcessCapabilities
    private let log: (MessageKind, String) -> Void
    /// Absent until it is known what hears.
    private var kept: CapabilityNeeds?

    /// What is kept, and what for.
    var needs: [CapabilityNeeds.Need] { kept?.needs ?? [] }

    /// - Parameters:
    ///   - process: the capabilities of the process.
    ///   - log: takes lines for the operator.
    init(_ process: ProcessCapabilities, log: @escaping (MessageKind, String) -> Void) {
        self.process = process
        self.log = log
    }

    /// Gives up what `status` shows that nobody needs; to be called whenever that may have changed.
    mutating func update(_ status: ScanStatus) {
        guard status.backend != nil else { return }
        let needs = CapabilityNeeds(status.ways, used: status.backend, present: process.present())
        guard needs != kept else { return }
        let isNews = needs.capabilities != kept?.capabilities
        kept = needs
        guard isNews else { return }
        do throws(Errno) {
            try process.drop(needs.capabilities)
        } catch {
            log(.capabilityNotDropped, "the capabilities can't be dropped: \(error)")
        }
        for need in needs.needs { log(.capabilityKept, "keeps \(need.capability.name): \(need.why)") }
    }

    /// Why the scan can't be begun anew with other settings: a way that is open could not be opened a second time, for what
    /// that takes was given up. `nil` where it can.
    func reasonToKeepScanning(_ status: ScanStatus) -> String? {
        let present = process.present()
        for way in status.ways where way.isOpen {
            guard let capability = way.capabilityToBegin, !present.contains(capability) else { continue }
            return "\(way.backend.rawValue) can't be opened again, because \(capability.name) was dropped"
        }
        return nil
    }
}
