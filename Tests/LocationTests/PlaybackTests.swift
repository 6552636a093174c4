import BeaconMonitoring
import BeaconMonitoringTesting
import Foundation
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import Location

/// Providers whose run ends, or that must deliver received data, at inconvenient times.
@Suite(.timeLimit(.minutes(6))) struct PlaybackTests {
    /// A resolver whose servers do not answer until a test lets them.
    private final class Resolver: Sendable {
        private let answer = DispatchSemaphore(value: 0)
        private let asked = AsyncStream.makeStream(of: Never.self)

        func connect(_ host: String, _ port: UInt16) -> Result<FileDescriptor, TCPSocket.Problem> {
            asked.continuation.finish()
            answer.wait()
            return .failure(TCPSocket.Problem(text: "no server answers"))
        }

        func wasAsked() async { for await _ in asked.stream {} }
        func release() { answer.signal() }
    }

    private func feed() -> LocationFeed { LocationFeed(service: ServiceRegistry()) }

    @Test func `a canceled run does not wait for the lookup of a name`() async throws {
        let resolver = Resolver()
        let provider = LocationProvider(name: "gpsd") {
            GPSDPlayback(host: "gps.example", port: 2947, connect: resolver.connect)
        }
        let monitor = try BeaconMonitor(
            "gpsd lookup", clock: ManualClock(at(0)), locating: .provider(provider, feed: feed()))
        let running = Task { try await monitor.run() }
        await resolver.wasAsked()
        running.cancel()
        // The resolver cannot answer before.
        await #expect(throws: CancellationError.self) { try await running.value }
        resolver.release()
        await monitor.end()
    }

    @Test func `T5: a drain does not wait for the lookup of a name`() async throws {
        let resolver = Resolver()
        // The first attempt fails at once. The next one is made within the loop.
        let attempts = Mutex(0)
        let playback = GPSDPlayback(host: "gps.example", port: 2947) { host, port in
            let isFirst = attempts.withLock { attempts in
                attempts += 1
                return attempts == 1
            }
            return isFirst ? .failure(TCPSocket.Problem(text: "refused")) : resolver.connect(host, port)
        }
        let feed = feed()
        let monitor = try BeaconMonitor("gpsd drain", clock: ManualClock(at(0)))
        let running = Task { try await playback.run(on: ManualClock(at(0)), to: nil, feed) }
        await resolver.wasAsked()
        await playback.drain(on: monitor.clock, to: monitor, feed)
        resolver.release()
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        await monitor.end()
    }

    @Test func `if two feeds run a script, each run ends when its own task is canceled`() async throws {
        let script = ScriptedFixes()
        let (first, second) = (feed(), feed())
        let clock = ManualClock(at(0))
        let one = Task { try await first.run(.scripted(script), clock: clock) }
        try await script.mailbox.waits(for: 1)
        let other = Task { try await second.run(.scripted(script), clock: clock) }
        try await script.mailbox.waits(for: 2)
        one.cancel()
        await #expect(throws: CancellationError.self) { try await one.value }
        // The other run continues.
        var updates = LocationUpdate.liveUpdates(from: second).makeAsyncIterator()
        script.give(try fix(0))
        #expect(await updates.next()?.location != nil)
        other.cancel()
        await #expect(throws: CancellationError.self) { try await other.value }
    }

    @Test func `a file that can be read again clears authorizationDenied`() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).gpx").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let here = try vienna()
        try "<gpx version=\"1.1\"><wpt lat=\"\(here.latitude)\" lon=\"\(here.longitude)\"/></gpx>"
            .write(toFile: path, atomically: true, encoding: .utf8)
        let feed = feed()
        // The permission was denied before.
        feed.set(.authorizationDenied)
        var updates = LocationUpdate.liveUpdates(from: feed).makeAsyncIterator()
        #expect(await updates.next()?.authorizationDenied == true)
        async let running: Void = feed.run(.gpx(path, pace: 1), clock: ManualClock(at(0)))
        #expect(await updates.next()?.authorizationDenied == false)
        try await running
    }
}

extension LocationMailbox {
    /// Returns when `count` tasks wait for the next element.
    fileprivate func waits(for count: Int) async throws {
        try await until("\(count) wait", saw: "\(waiterCount)") { waiterCount >= count }
    }
}
