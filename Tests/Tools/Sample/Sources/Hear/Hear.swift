// The eight lines with a choice: how it hears, how long a silence is an exit, and after how many events it has seen enough.

import BeaconMonitoringTesting
import BeaconScanning
import Glibc

@main struct Hear {
    static let staff = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)

    /// hear WAY [FILE] [--exit SECONDS] [--events COUNT]
    static func main() async {
        do {
            try await hear(Arguments(CommandLine.arguments.dropFirst()))
        } catch let error as HearingError where error.kind == .denied {
            fail("\(error)", code: EX_NOPERM)
        } catch let error as HearingError where error.kind == .unavailable {
            fail("\(error)", code: EX_UNAVAILABLE)
        } catch let error as Arguments.Mistake {
            fail(error.description, code: EX_USAGE)
        } catch {
            fail("\(error)", code: EXIT_FAILURE)
        }
    }

    static func hear(_ arguments: Arguments) async throws {
        let monitor = try BeaconMonitor("site", scanning: arguments.scanning)
        var settings = ConditionSettings()
        settings.exitTimeout = arguments.exitTimeout
        try await monitor.add(.beacon(uuid: staff), identifier: "near", settings: settings)
        let events = monitor.subscribe()
        async let hearing: Void = monitor.run()
        async let script: Void = arguments.perform()
        var count = 0
        // Where hearing ends for an error, events end with its words, and `run()` throws it.
        var iterator = events.makeAsyncIterator()
        while let event = try? await iterator.next() {
            let time = Double(event.time.nanoseconds) / 1e9
            let beacon = event.refinement.map { "\($0.major)/\($0.minor)" } ?? "-"
            say("event \(event.identifier) \(event.state) \(beacon) \(time)")
            count += 1
            if count == arguments.events { break }
        }
        await monitor.end()
        await script
        try await hearing
        say("ended after \(count) events")
    }

    /// Prints a line, which is read while this runs.
    static func say(_ line: String) {
        print(line)
        fflush(nil)
    }

    static func fail(_ text: String, code: Int32) -> Never {
        say("failed: \(text)")
        exit(code)
    }
}
