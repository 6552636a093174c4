import BeaconMonitoringTesting
import BeaconScanning

/// The arguments of the command line.
struct Arguments {
    struct UsageError: Error, CustomStringConvertible {
        let description: String
    }

    var scanning = Scanning.automatic
    var exitTimeout: Duration = .seconds(30)
    /// The number of events after which the program ends; 0 means no limit.
    var events = 0
    private var script: ScriptedSightings?

    init(_ words: some Sequence<String>) throws(UsageError) {
        var words = Array(words)[...]
        let source = words.popFirst() ?? "automatic"
        switch source {
        case "automatic": scanning = .automatic
        case "management": scanning = .management
        case "bluetoothd": scanning = .bluetoothd
        case "hci": scanning = .hci
        case "scripted":
            let script = ScriptedSightings()
            self.script = script
            scanning = .scripted(script)
        case "capture":
            guard let path = words.popFirst() else { throw UsageError(description: "capture requires a file") }
            scanning = .capture(path)
        default:
            throw UsageError(
                description: "\(source) is not automatic, management, bluetoothd, hci, scripted or capture")
        }
        scanning = scanning.logging { _, text in Scan.say(text) }
        while let option = words.popFirst() {
            guard let number = words.popFirst().flatMap({ Int($0) }), number > 0 else {
                throw UsageError(description: "\(option) requires a number greater than 0")
            }
            switch option {
            case "--exit": exitTimeout = .seconds(number)
            case "--events": events = number
            default: throw UsageError(description: "\(option) is not an option; expected --exit or --events")
            }
        }
    }

    /// Performs the script, if the source is one: a beacon enters, is in range for a minute, and exits.
    func perform() async {
        guard let script else { return }
        for _ in 0..<6 {
            await script.receive(BeaconIdentity(uuid: Scan.staff, major: 1, minor: 7))
            await script.wait(.seconds(10))
        }
        await script.wait(exitTimeout)
        script.finish()
    }
}
