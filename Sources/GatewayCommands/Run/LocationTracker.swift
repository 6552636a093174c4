import BaseTypes
import BeaconMonitoring
import CommandSupport
import EventLoops
import GatewayConfiguration
import Location
import OperatorLogging

/// Where the gateway is: the source that the configuration names, its last fix, and why there is none where there is none.
///
/// What the source tells goes on to the engine; nothing is decided here about who is where.
final class LocationTracker: LocationHandler {
    /// What the engine has to hear.
    enum News: Equatable {
        case fix(LocationFix)
        /// There is no fix since then.
        case lost(since: Instant, reason: String, at: Instant)
    }

    /// How the source stands, for operators.
    struct Standing: Equatable {
        /// What lines call the source.
        var name: String
        /// The last fix since it was started.
        var lastFix: LocationFix?
        /// What is wrong with it.
        var trouble: String?
    }

    private let loop: EventLoop
    private let log: (MessageKind, String) -> Void
    private let tell: (News) -> Void
    private var source: (any LocationSource)?
    /// Absent where no circle is monitored, or nothing says where the gateway is.
    private(set) var standing: Standing?

    /// - Parameters:
    ///   - loop: where the sources live.
    ///   - log: takes lines for the operator.
    ///   - tell: takes what the engine has to hear.
    init(
        on loop: EventLoop, log: @escaping (MessageKind, String) -> Void, _ tell: @escaping (News) -> Void
    ) {
        self.loop = loop
        self.log = log
        self.tell = tell
    }

    /// Starts the source of `configuration`, where it has one and monitors circles.
    func start(_ configuration: Configuration) {
        standing = nil
        guard let settings = configuration.location, configuration.monitorsCircles else { return }
        standing = Standing(name: settings.name)
        do throws(ExitFailure) {
            let source = try makeSource(settings)
            self.source = source
            source.start(self)
        } catch {
            // Beacons are monitored all the same; of the circles events say that there is no fix.
            standing?.trouble = error.message
            log(.locationUnavailable, error.message)
        }
    }

    /// Starts another source, or none: what the old one knew counts until `now`.
    func restart(_ configuration: Configuration, at now: Instant) {
        stop()
        tell(.lost(since: now, reason: "the configuration was reloaded", at: now))
        start(configuration)
    }

    /// Hands over what the source has received.
    func drain() { source?.drain() }

    /// Ends the source.
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

    // MARK: What the source tells

    func located(_ fix: LocationFix) {
        standing?.lastFix = fix
        if let trouble = standing?.trouble {
            standing?.trouble = nil
            log(.locationFound, "fixes arrive again, after: \(trouble)")
        }
        tell(.fix(fix))
    }

    func changed(_ change: LocationSourceChange, at time: Instant) {
        switch change {
        case .unavailable(let since, let reason):
            standing?.trouble = reason
            tell(.lost(since: since, reason: reason, at: time))
        case .remark(let text): log(.locationProblem, text)
        // The log says why there is no fix; the flags of events are about hearing.
        case .flags: break
        }
    }
}

extension Configuration {
    /// Whether a circle is among the conditions.
    var monitorsCircles: Bool { monitors.contains { $0.conditions.contains { $0.condition.isCircle } } }
}
