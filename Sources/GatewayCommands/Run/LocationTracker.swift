import BaseTypes
import BeaconMonitoring
import CommandSupport
import EventLoops
import GatewayConfiguration
import Location
import OperatorLogging

/// The location of the gateway: the source in the configuration, its last fix, and the reason if there is no fix.
///
/// It passes the output of the source to the engine, which makes all decisions about presence.
final class LocationTracker: LocationHandler {
    /// An input for the engine.
    enum Input: Equatable {
        case fix(LocationFix)
        /// There has been no fix since `since`.
        case lost(since: Instant, reason: String, at: Instant)
    }

    /// The state of the source, for operators.
    struct SourceState: Equatable {
        /// The name of the source in lines.
        var name: String
        /// The last fix since the source was started; `nil` if there was none.
        var lastFix: LocationFix?
        /// The problem with the source; `nil` if there is none.
        var failure: String?
    }

    private let loop: EventLoop
    private let log: (MessageKind, String) -> Void
    private let deliver: (Input) -> Void
    private var source: (any LocationSource)?
    /// The state of the source; `nil` if no circle is monitored, or if the configuration has no source.
    private(set) var sourceState: SourceState?

    /// Creates a tracker without a source.
    ///
    /// - Parameters:
    ///   - loop: the loop of the sources.
    ///   - log: receives the messages for the operator.
    ///   - deliver: receives the inputs for the engine.
    init(
        on loop: EventLoop, log: @escaping (MessageKind, String) -> Void, _ deliver: @escaping (Input) -> Void
    ) {
        self.loop = loop
        self.log = log
        self.deliver = deliver
    }

    /// Starts the source of `configuration`, if it has one and monitors circles.
    func start(_ configuration: Configuration) {
        sourceState = nil
        guard let settings = configuration.location, configuration.monitorsCircles else { return }
        sourceState = SourceState(name: settings.name)
        do throws(ExitFailure) {
            let source = try makeSource(settings)
            self.source = source
            source.start(self)
        } catch {
            // Beacons are monitored nevertheless. Events of circles report that there is no fix.
            sourceState?.failure = error.message
            log(.locationUnavailable, error.message)
        }
    }

    /// Stops the source and starts another one, if the configuration has one. The fixes of the old source count until
    /// `now`.
    func restart(_ configuration: Configuration, at now: Instant) {
        stop()
        deliver(.lost(since: now, reason: "the configuration was reloaded", at: now))
        start(configuration)
    }

    /// Passes on everything that the source has received.
    func drain() { source?.drain() }

    /// Stops the source.
    func stop() {
        source?.stop()
        source = nil
    }

    private func makeSource(_ settings: LocationConfiguration) throws(ExitFailure) -> any LocationSource {
        switch settings {
        case .gpsd(let host, let port): return GPSDSource(host: host, port: port, on: loop)
        case .gpx(let track):
            guard let file = GPXFile.read(at: track.file)?.file else {
                throw ExitFailure(
                    .inputMissing,
                    "location.file \(track.file) can't be read, or is not a GPX file; circles have no fix")
            }
            for damage in file.damages.prefix(10) { log(.locationProblem, "\(track.file):\(damage)") }
            var options = GPXOptions()
            options.speed = track.speed
            options.loops = track.loops
            do throws(GPXPlan.Problem) {
                return GPXSource(try GPXPlan(file, pace: track.pace), options: options, on: loop)
            } catch {
                throw ExitFailure(.dataInvalid, "location.file \(track.file): \(error); circles have no fix")
            }
        }
    }

    // MARK: LocationHandler

    func located(_ fix: LocationFix) {
        sourceState?.lastFix = fix
        if let failure = sourceState?.failure {
            sourceState?.failure = nil
            log(.locationFound, "fixes arrive again, after: \(failure)")
        }
        deliver(.fix(fix))
    }

    func changed(_ change: LocationSourceChange, at time: Instant) {
        switch change {
        case .unavailable(let since, let reason):
            sourceState?.failure = reason
            deliver(.lost(since: since, reason: reason, at: time))
        case .remark(let text): log(.locationProblem, text)
        // The log contains the reason why there is no fix. The flags of events are about scanning.
        case .flags: break
        }
    }
}

extension Configuration {
    /// Whether one of the conditions is a circle.
    var monitorsCircles: Bool { monitors.contains { $0.conditions.contains { $0.condition.isCircle } } }
}
