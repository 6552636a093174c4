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
        abstract: "Shows the beacons in range: signal strength, distance, rate and matching conditions.",
        discussion: """
            On a terminal, it updates one table, nearest beacon first; q quits. In a pipe, it prints a table each second, or \
            with --json one object per second for each beacon. A beacon is in range until it was not received for 30 s.

            RSSI is the mean of the last five seconds. METRES is the distance that follows from RSSI and the beacon's \
            measured power in free space, and PROXIMITY is this distance in words (below 0.5 m immediate, below 4 m near). \
            Both are only estimates if there are walls or people.

            It scans as run does, and can run at the same time as a gateway. It does not change the power or the settings \
            of adapters. Exits with 69 if this machine cannot scan, and with 77 if this user may not scan.
            """)

    @Option(
        help: ArgumentHelp(
            "The configuration. (default: \(ConfigurationFile.defaultPath), if it exists)", valueName: "file"))
    var config: String?

    @Flag(help: "Show every advertiser: address, company and name.")
    var all = false

    @Flag(help: "Print JSON Lines.")
    var json = false

    @Option(help: ArgumentHelp("Scan with this backend: auto, management, dbus or hci.", valueName: "backend"))
    var backend: BackendArgument?

    @Option(
        help: ArgumentHelp(
            "Scan with this adapter: hci0, or its address. Can be repeated.", valueName: "adapter"))
    var adapter: [AdapterArgument] = []

    @Option(help: ArgumentHelp("Show only beacons with this UUID. Can be repeated.", valueName: "uuid"))
    var uuid: [UUIDArgument] = []

    func validate() throws {
        if all, !uuid.isEmpty {
            throw ValidationError("--uuid selects beacons, and --all shows every advertiser; use only one of them")
        }
    }

    func run() throws {
        try Terminal.run {
            var options = LiveScan.Options()
            let (configuration, remark) = try ObserverOptions.configurationWithNames(config)
            if let remark { Terminal.say(remark) }
            options.observer = ObserverOptions(configuration: configuration)
            options.observer.backend = backend?.backend
            options.observer.adapters = adapter.map(\.name)
            options.observer.receivesAll = all
            options.observer.asksForNames = all
            options.observer.record = "scan"
            options.showsAll = all
            options.writesJSON = json
            options.uuids = Set(uuid.map(\.uuid))
            try LiveScan(options, log: OperatorLog().write).run()
        }
    }
}

/// A backend, named as in `scanner.backend`.
struct BackendArgument: ExpressibleByArgument {
    let backend: ScannerConfiguration.Backend

    init?(argument: String) {
        guard let backend = ScannerConfiguration.Backend(rawValue: argument) else { return nil }
        self.backend = backend
    }

    static var allValueStrings: [String] { ScannerConfiguration.Backend.allCases.map(\.rawValue) }
}

/// An adapter, named as in the kernel or by the address of its controller.
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
