public import BaseTypes
public import BeaconMonitoring
import Synchronization

/// Fixes that a test or a program provides, from any thread.
///
///     let script = ScriptedFixes()
///     let monitor = try BeaconMonitor("boat", clock: clock, locating: .scripted(script))
///     script.give(fix)
///
/// While no monitor or feed runs the script, at most 1,024 elements wait. If there are more, the oldest is dropped and
/// counted. If several run it, each element is delivered to one of them.
public final class ScriptedFixes: Sendable {
    /// The name of the provider in log lines and errors.
    public let name: String
    let mailbox = LocationMailbox()

    /// Creates a script without fixes.
    public init(name: String = "scripted") { self.name = name }

    /// Adds a fix.
    public func give(_ fix: LocationFix) { mailbox.put(.fix(fix)) }

    /// Reports that there is no fix from now on.
    ///
    /// - Parameters:
    ///   - since: the time of the last fix.
    ///   - reason: the reason, for operators.
    public func lose(since: Instant, reason: String) { mailbox.put(.lost(since: since, reason: reason)) }

    /// Sets the diagnostics from now on, for example that access is denied.
    public func raise(_ flags: Diagnostics) { mailbox.put(.flags(flags)) }

    /// The number of elements that were dropped because nothing took them.
    public var dropped: Int { mailbox.dropped }
}

/// One run of a script.
final class ScriptedPlayback: LocationPlayback {
    private let script: ScriptedFixes

    init(script: ScriptedFixes) { self.script = script }

    func run(on clock: any MonitorClock, to monitor: BeaconMonitor?, _ feed: LocationFeed) async throws {
        await script.mailbox.deliver(on: clock, to: monitor, feed)
        try Task.checkCancellation()
    }

    func drain(on clock: any MonitorClock, to monitor: isolated BeaconMonitor, _ feed: LocationFeed) async {
        script.mailbox.hand(on: clock, to: monitor, feed)
    }
}
