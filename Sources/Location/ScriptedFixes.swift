public import BaseTypes
public import BeaconMonitoring
import Synchronization

/// Fixes that somebody gives by hand, from any thread: a test, or a program that has them from elsewhere.
///
///     let script = ScriptedFixes()
///     let monitor = try BeaconMonitor("ferry", clock: clock, locating: .scripted(script))
///     script.give(fix)
///
/// What is given while nobody plays it waits, 1,024 of it; of more the oldest is dropped and counted. Where several play it,
/// one of them gets each.
public final class ScriptedFixes: Sendable {
    /// The name of the provider in log lines and errors.
    public let name: String
    let mailbox = LocationMailbox()

    /// A script that has given nothing.
    public init(name: String = "scripted") { self.name = name }

    /// Gives a fix.
    public func give(_ fix: LocationFix) { mailbox.put(.fix(fix)) }

    /// Gives no fix from now on.
    ///
    /// - Parameters:
    ///   - since: when the last one was.
    ///   - reason: why, in words for operators.
    public func lose(since: Instant, reason: String) { mailbox.put(.lost(since: since, reason: reason)) }

    /// Says which flags are raised from now on: who refuses, and whether anybody does.
    public func raise(_ flags: Diagnostics) { mailbox.put(.flags(flags)) }

    /// How much was dropped because nobody took it.
    public var dropped: Int { mailbox.dropped }
}

/// One playing of a script.
final class ScriptedPlayback: LocationPlayback {
    private let script: ScriptedFixes

    init(script: ScriptedFixes) { self.script = script }

    func run(on clock: any MonitorClock, to monitor: BeaconMonitor?, _ feed: LocationFeed) async throws {
        await script.mailbox.deliver(on: clock, to: monitor, feed)
        try Task.checkCancellation()
    }

    func drain(on clock: any MonitorClock, to monitor: isolated BeaconMonitor, _ feed: LocationFeed) async {
        script.mailbox.hand(at: clock.now, to: monitor, feed)
    }
}
