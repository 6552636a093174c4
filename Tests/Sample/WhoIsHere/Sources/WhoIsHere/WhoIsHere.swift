import ArgumentParser
import BeaconScanning
import EventLog
@preconcurrency import Glibc
import SystemPackage

@main struct WhoIsHere: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "who-is-here",
        abstract: "Shows who is present.",
        discussion: "Example: who-is-here --badge F7826DA6-4FA2-4E98-8024-BC5B71E0893E/1/7=Ada --store badges")

    @Option(
        help: "A badge and its person, as UUID/MAJOR/MINOR=NAME; can be repeated. NAME has no /, + or #.",
        transform: Badge.init)
    var badge: [Badge]

    @Option(name: .customLong("from"), help: "A capture, used instead of the adapters of the machine.")
    var capture: String?

    @Option(help: "The folder in which the states are kept when the program ends.") var store: String?

    struct Badge {
        let beacon: BeaconIdentity
        let person: String

        init(_ text: String) throws {
            let parts = text.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let beacon = BeaconIdentity(String(parts[0])) else {
                throw ValidationError("“\(text)” is not UUID/MAJOR/MINOR=NAME")
            }
            (self.beacon, person) = (beacon, String(parts[1]))
        }

        /// The condition that is satisfied while the badge is present. Its identifier is the name of the person.
        var condition: MonitorSetup.Condition {
            get throws {
                var settings = ConditionSettings()
                settings.exitTimeout = .seconds(120)
                return try MonitorSetup.Condition(.beacon(matching: beacon), identifier: person, settings: settings)
            }
        }
    }

    func run() async throws {
        let monitor = try BeaconMonitor(
            "who is here", scanning: capture.map { .capture($0) } ?? .automatic,
            store: store.map { FileRecordStore(directory: FilePath($0)) })
        try await monitor.setConditions(badge.map { try $0.condition })
        let events = monitor.subscribe()
        let screen = Screen(Board(await monitor.records))
        // The diagnostics of a session change when an adapter or bluetoothd does.
        let session = ServiceSession()
        async let running: Void = monitor.run()
        async let watching: Void = { for await flags in session.diagnostics { await screen.show(flags) } }()
        for try await event in events { await screen.show(event) }
        try await running
        session.invalidate()
        await watching
    }
}

extension BeaconMonitor {
    /// The records of all conditions.
    var records: [Record] { identifiers.compactMap { record(for: $0) } }
}

/// Draws the board at each change. On a terminal, it replaces the previous one.
actor Screen {
    private var board: Board
    private let isTerminal = isatty(STDOUT_FILENO) == 1

    init(_ board: Board) { self.board = board }

    func show(_ event: BeaconMonitor.Event) {
        board.show(event)
        draw()
    }

    func show(_ diagnostics: Diagnostics) {
        board.diagnostics = diagnostics
        draw()
    }

    private func draw() {
        // ECMA-48: CUP moves the cursor to the first line, ED clears the screen.
        print((isTerminal ? "\u{1B}[H\u{1B}[2J" : "") + board.lines.joined(separator: "\n") + "\n")
        fflush(stdout)
    }
}
