import BeaconMonitoringTesting
import BeaconScanning

/// What the command line asks for.
struct Arguments {
    struct Mistake: Error, CustomStringConvertible {
        let description: String
    }

    var scanning = Scanning.automatic
    var exitTimeout: Duration = .seconds(30)
    /// After so many it ends; 0: it goes on.
    var events = 0
    private var script: ScriptedSightings?

    init(_ words: some Sequence<String>) throws(Mistake) {
        var words = Array(words)[...]
        let way = words.popFirst() ?? "automatic"
        switch way {
        case "automatic": scanning = .automatic
        case "management": scanning = .management
        case "bluetoothd": scanning = .bluetoothd
        case "hci": scanning = .hci
        case "scripted":
            let script = ScriptedSightings()
            self.script = script
            scanning = .scripted(script)
        case "capture":
            guard let path = words.popFirst() else { throw Mistake(description: "capture: which file?") }
            scanning = .capture(path)
        default: throw Mistake(description: "\(way) is no way to hear")
        }
        scanning = scanning.logging { _, text in Hear.say(text) }
        while let option = words.popFirst() {
            guard let number = words.popFirst().flatMap({ Int($0) }), number > 0 else {
                throw Mistake(description: "\(option) takes a number above 0")
            }
            switch option {
            case "--exit": exitTimeout = .seconds(number)
            case "--events": events = number
            default: throw Mistake(description: "\(option) is no option")
            }
        }
    }

    /// What a script says: somebody comes, stays for a minute and leaves.
    func perform() async {
        guard let script else { return }
        for _ in 0..<6 {
            await script.hear(BeaconIdentity(uuid: Hear.staff, major: 1, minor: 7))
            await script.wait(.seconds(10))
        }
        await script.wait(exitTimeout)
        script.finish()
    }
}
