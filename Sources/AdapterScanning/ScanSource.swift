import BaseTypes
import BluetoothLE

/// Forwards the calls of one backend to a supervisor, together with the backend. A supervisor can have several backends
/// at the same time.
final class ScanSource: ScanHandler {
    /// The state of an adapter as this backend reports it.
    struct Adapter {
        let number: Int
        var controller = ""
        var address: DeviceAddress?
        var isPresent = true
        var isListening = false
        var reason = ""
    }

    let index: Int
    let scanner: any AdvertisingScanner
    // The supervisor lives longer than its scanners, which make no calls after they were stopped.
    private unowned let supervisor: ScanSupervisor
    var adapters: [Adapter] = []
    var obstacles: Set<ScanObstacle> = []
    var isUsed = false
    var isEnded = false

    init(index: Int, scanner: any AdvertisingScanner, supervisor: ScanSupervisor) {
        self.index = index
        self.scanner = scanner
        self.supervisor = supervisor
    }

    /// The number of selected adapters that are listening through this backend.
    var listening: Int { adapters.count { $0.isListening } }

    func received(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
        guard isUsed, !isEnded, isSelected(adapter) else { return }
        supervisor.received(report, data: data, on: adapter, at: time)
    }

    func changed(_ change: ScanChange, at time: Instant) {
        guard !isEnded, let change = ofInterest(change) else { return }
        note(change)
        supervisor.changed(change, by: self, at: time)
    }

    /// Adapts a change if not all adapters are used. Returns `nil` if it does not matter.
    private func ofInterest(_ change: ScanChange) -> ScanChange? {
        switch change {
        case .appeared(let number, _, let address):
            if supervisor.options.adapters.includes(number, address: address) { return change }
            // If an adapter that is used had this number until now, it no longer has it, so it is reported as gone.
            return adapters.contains { $0.number == number && $0.isPresent } ? .disappeared(adapter: number) : nil
        case .disappeared(let number), .listening(let number, _), .stopped(let number, _, _), .lost(let number, _, _),
            .needs(let number, _, _):
            return isSelected(number) ? change : nil
        case .capture, .obstacles, .ended: return change
        }
    }

    /// Returns whether the adapter that has this number at present is used.
    private func isSelected(_ number: Int) -> Bool {
        if supervisor.options.adapters.includes(number, address: nil) { return true }
        return adapters.contains {
            $0.number == number && $0.isPresent
                && supervisor.options.adapters.includes(number, address: $0.address)
        }
    }

    private func note(_ change: ScanChange) {
        switch change {
        case .appeared(let number, let controller, let address):
            with(number) {
                $0.controller = controller
                $0.address = address
                $0.isPresent = true
            }
        case .disappeared(let number):
            with(number) {
                $0.isPresent = false
                $0.isListening = false
            }
        case .listening(let number, let reason):
            with(number) {
                $0.isPresent = true
                $0.isListening = true
                $0.reason = reason
            }
        case .stopped(let number, _, let reason):
            with(number) {
                $0.isListening = false
                $0.reason = reason
            }
        case .obstacles(let obstacles): self.obstacles = obstacles
        case .lost, .needs, .capture: break
        case .ended: for place in adapters.indices { adapters[place].isListening = false }
        }
    }

    private func with(_ number: Int, _ change: (inout Adapter) -> Void) {
        if let place = adapters.firstIndex(where: { $0.number == number }) {
            change(&adapters[place])
        } else if adapters.count < ScanSupervisor.adaptersMax {
            var adapter = Adapter(number: number)
            change(&adapter)
            adapters.append(adapter)
        }
    }
}
