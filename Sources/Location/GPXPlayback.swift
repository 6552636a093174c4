import BaseTypes
import BeaconMonitoring
import Synchronization
import SystemPackage

/// One run of a GPX file, on any clock. With the option `loops`, it has no end.
final class GPXPlayback: LocationPlayback {
    // The maximum size of a file, 1 GiB. A track of a day with one point per second has about ten megabytes.
    private static let sizeMax = 1 << 30
    // The maximum number of items at once, after the process was stopped.
    private static let itemsMax = 100_000

    private struct State {
        var timeline: GPXTimeline
        var upcoming: GPXPlayer.Item?
    }

    private let file: String
    private let options: GPXOptions
    private let pace: Double?
    private let state = Mutex<State?>(nil)

    init(file: String, options: GPXOptions, pace: Double?) {
        self.file = file
        self.options = options
        self.pace = pace
    }

    func run(on clock: any MonitorClock, to monitor: BeaconMonitor?, _ feed: LocationFeed) async throws {
        let plan = try plan(feed)
        // Clears the diagnostics of an earlier attempt to read the file.
        feed.set([])
        state.withLock {
            var timeline = GPXTimeline(plan, options, begun: clock.now)
            let first = timeline.player.next()
            $0 = State(timeline: timeline, upcoming: first)
        }
        await handDue(on: clock, to: monitor, feed)
        while let next = state.withLock({ state in state.flatMap { $0.upcoming.map($0.timeline.time) } }) {
            try await clock.sleep(until: next)
            await handDue(on: clock, to: monitor, feed)
        }
    }

    func drain(on clock: any MonitorClock, to monitor: isolated BeaconMonitor, _ feed: LocationFeed) async {
        // Taken and delivered in one call on the monitor, so that nothing can happen in between.
        LocationOutput.report(takeDue(at: clock.now), on: clock, to: monitor, feed)
    }

    private func handDue(on clock: any MonitorClock, to monitor: BeaconMonitor?, _ feed: LocationFeed) async {
        if let monitor {
            await drain(on: clock, to: monitor, feed)
        } else {
            LocationOutput.report(takeDue(at: clock.now), on: clock, feed)
        }
    }

    private func takeDue(at now: Instant) -> [LocationOutput] {
        state.withLock { state in
            var outputs: [LocationOutput] = []
            while var current = state, let item = current.upcoming, outputs.count < Self.itemsMax {
                let time = current.timeline.time(of: item)
                guard time <= now else { break }
                current.upcoming = current.timeline.player.next()
                switch item {
                case .fix(let fix):
                    outputs.append(.fix(current.timeline.played(fix)))
                    if current.upcoming == nil { outputs.append(.lost(since: time, reason: "the file has ended")) }
                case .pause: outputs.append(.lost(since: time, reason: "the file has a break"))
                }
                state = current
            }
            return outputs
        }
    }

    private func plan(_ feed: LocationFeed) throws(LocationError) -> GPXPlan {
        let track: GPXFile
        do { track = try GPXFile.read(file, sizeMax: Self.sizeMax)?.file ?? GPXFile() } catch {
            let problem = error as? Errno
            if problem == .permissionDenied || problem == .notPermitted { feed.set(.authorizationDenied) }
            throw LocationError(description: "\(file) can't be read: \(problem.map { "\($0)" } ?? "\(error)")")
        }
        guard options.speed > 0, options.speed.isFinite else {
            throw LocationError(description: "\(file): the speed is \(options.speed); expected a finite number above 0")
        }
        do throws(GPXPlan.Problem) {
            return try GPXPlan(track, pace: pace)
        } catch {
            throw LocationError(description: "\(file): \(error)")
        }
    }
}
