// The program of the README with options: the source of advertisements, the exit timeout, and the number of events
// after which it ends.

import BeaconMonitoringTesting
import BeaconScanning
import Glibc

@main struct Scan {
    static let staff = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)

    /// Runs `Scan SOURCE [FILE] [--exit SECONDS] [--events COUNT]`. Without any argument, the source is `automatic`.
    ///
    /// The exit status is EX_NOPERM if a permission is missing, EX_UNAVAILABLE if scanning is unavailable, EX_USAGE if
    /// an argument is invalid, and EXIT_FAILURE after any other error.
    static func main() async {
        do {
            try await run(Arguments(CommandLine.arguments.dropFirst()))
        } catch let error as ScanningError where error.kind == .denied {
            fail("\(error)", code: EX_NOPERM)
        } catch let error as ScanningError where error.kind == .unavailable {
            fail("\(error)", code: EX_UNAVAILABLE)
        } catch let error as Arguments.UsageError {
            fail(error.description, code: EX_USAGE)
        } catch {
            fail("\(error)", code: EXIT_FAILURE)
        }
    }

    static func run(_ arguments: Arguments) async throws {
        let monitor = try BeaconMonitor("site", scanning: arguments.scanning)
        var settings = ConditionSettings()
        settings.exitTimeout = arguments.exitTimeout
        try await monitor.add(.beacon(uuid: staff), identifier: "near", settings: settings)
        let events = monitor.subscribe()
        async let running: Void = monitor.run()
        async let script: Void = arguments.perform()
        var count = 0
        // If scanning fails, the events end with an error that contains its text, and `run()` throws the error itself.
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
        try await running
        say("ended after \(count) events")
    }

    /// Prints a line immediately, because tests read the output while the program runs.
    static func say(_ line: String) {
        print(line)
        fflush(nil)
    }

    static func fail(_ text: String, code: Int32) -> Never {
        say("failed: \(text)")
        exit(code)
    }
}
