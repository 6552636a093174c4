import AdapterScanning
import ArgumentParser
import BluetoothLE
import CommandSupport
import GatewayCommands
import GatewayConfiguration
import OperatorLogging

struct ScanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scan",
        abstract: "Shows the beacons in range: how strong, how near, how often, and which conditions they match.",
        discussion: """
            On a terminal a table that stays in its place, nearest first; q ends it. Into a pipe a table each second, or \
            with --json one object a second for each beacon. A beacon is in range until it was not heard for 30 s.

            RSSI is the mean of the last five seconds; METRES is what it comes to against the beacon's measured power in \
            free space, and PROXIMITY that in words (below 0.5 m immediate, below 4 m near): both are guesses wherever \
            there are walls and people.

            Hears as run does, beside a running gateway too, and leaves adapters' power and settings as they are. Ends \
            with 69 where the machine can't hear at all and 77 where this user may not.
            """)

    @Option(
        help: ArgumentHelp(
            "The configuration; without it \(ConfigurationFile.defaultPath), if that is there.", valueName: "file"))
    var config: String?

    @Flag(help: "Every advertiser: address, company, name.")
    var all = false

    @Flag(help: "JSON lines.")
    var json = false

    @Option(help: ArgumentHelp("Hear by this way: auto, management, dbus or hci.", valueName: "way"))
    var backend: BackendArgument?

    @Option(
        help: ArgumentHelp(
            "Hear with this adapter: hci0, or its address; can be given several times.", valueName: "adapter"))
    var adapter: [AdapterArgument] = []

    @Option(help: ArgumentHelp("Show only beacons with this UUID; can be given several times.", valueName: "uuid"))
    var uuid: [UUIDArgument] = []

    func validate() throws {
        if all, !uuid.isEmpty { throw ValidationError("--uuid is about beacons, and --all about every advertiser") }
    }

    func run() throws {
        try Terminal.run {
            var options = LiveScan.Options()
            let (configuration, remark) = try ObserverOptions.configurationWithNames(config)
            if let remark { Terminal.say(remark) }
            options.observer = ObserverOptions(configuration: configuration)
            options.observer.backend = backend?.backend
            options.observer.adapters = adapter.map(\.name)
            options.observer.hearsAll = all
            options.observer.asksForNames = all
            options.observer.record = "scan"
            options.showsAll = all
            options.writesJSON = json
            options.uuids = Set(uuid.map(\.uuid))
            try LiveScan(options, log: OperatorLog().write).run()
        }
    }
}

/// A way to hear, as `scanner.backend` names it.
struct BackendArgument: ExpressibleByArgument {
    let backend: ScannerConfiguration.Backend

    init?(argument: String) {
        guard let backend = ScannerConfiguration.Backend(rawValue: argument) else { return nil }
        self.backend = backend
    }

    static var allValueStrings: [String] { ScannerConfiguration.Backend.allCases.map(\.rawValue) }
}

/// An adapter as the kernel names it, or by its controller's address.
struct AdapterArgument: ExpressibleByArgument {
    let name: String

    init?(argument: String) {
        if AdapterSelection.number(of: argument) != nil {
            name = argument
        } else if let address = DeviceAddress(argument, kind: .public), address.value != 0 {
            name = address.description
        } else {
            return nil
        }
    }
}

/// A UUID, with or without its hyphens.
struct UUIDArgument: ExpressibleByArgument {
    let uuid: ProximityUUID

    init?(argument: String) {
        guard let uuid = ProximityUUID(argument) else { return nil }
        self.uuid = uuid
    }
}
