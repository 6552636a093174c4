import BeaconMonitoring
import CommandSupport
import EventLoops
import GatewayConfiguration
import SystemPackage

/// Shows each event of a running gateway on a terminal, as a short line.
///
/// It never waits for the terminal, so that one that is not read does not stop scanning. If more than 64 KiB wait,
/// later lines are left out, and their number is shown when the terminal has accepted the others.
final class EventDisplay {
    private static let waitingMax = 64 << 10
    // At the end, the milliseconds for a terminal that is not read.
    private static let patience: Int32 = 250

    private let relay: TerminalRelay
    private let output: LiveOutput
    private var text: EventText
    /// The number of lines that were left out since the last one.
    private var omitted = 0

    /// Creates a display.
    ///
    /// - Parameters:
    ///   - terminal: the terminal, which stays open.
    ///   - names: the names of beacons.
    ///   - loop: the loop that waits until the terminal accepts lines.
    /// - Throws: `Errno` of pipe(2) or pthread_create(3).
    init(_ terminal: FileDescriptor, _ names: BeaconNames, on loop: EventLoop) throws(Errno) {
        relay = try TerminalRelay(to: terminal)
        output = LiveOutput(relay.input, isOurs: false, on: loop)
        output.patience = 0
        text = EventText(names)
        output.changed = { [unowned self] in showOmitted() }
    }

    /// Uses these names from now on.
    func use(_ names: BeaconNames) { text.use(names) }

    /// Shows an event, or a visit that ended without an event. Changes of adapters are in the log.
    func show(_ action: Action) {
        switch action {
        case .event, .visit: break
        case .condition, .adapter, .adapterNamed, .trackingLimitExceeded: return
        }
        guard output.waiting < Self.waitingMax else {
            if text.lines(of: action) != nil { omitted += 1 }
            return
        }
        showOmitted()
        if let lines = text.lines(of: action) { output.write(lines.utf8) }
    }

    private func showOmitted() {
        guard omitted > 0 else { return }
        let lines = "(\(omitted) more, not shown because the terminal did not accept them)\n"
        omitted = 0
        text.repeatDate()
        output.write(lines.utf8)
    }

    /// Shows the last lines, if the terminal accepts them soon.
    func close() {
        showOmitted()
        try? output.close()
        relay.close(within: Self.patience)
    }
}
