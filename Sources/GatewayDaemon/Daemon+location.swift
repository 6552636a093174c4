package import BeaconMonitoring
import BeaconScanning
package import BluetoothLE
import CommandSupport
import GatewayConfiguration
package import Location
import OperatorMessages
import Polling
import SystemPackage

// Where the gateway is: the source that the configuration names, and what it tells.
extension Daemon: LocationHandler {
    /// The source gave a fix.
    package func located(_ fix: LocationFix) {
        lastFix = fix
        if let trouble = locationTrouble {
            locationTrouble = nil
            log(.notice, "there is a fix again, after: \(trouble)")
        }
        monitor.located(fix)
        deliver()
    }

    /// Something became of the source.
    package func changed(_ change: LocationSourceChange, at time: Instant) {
        switch change {
        case .unavailable(let since, let reason):
            locationTrouble = reason
            monitor.lostLocation(since: since, reason: reason, at: time)
            deliver()
        case .remark(let text): log(.warning, text)
        // The log says why there is no fix; the flags of events are about hearing.
        case .flags: break
        }
    }

    /// Starts the source, where there is one and circles are monitored.
    func startLocation() {
        guard let settings = configuration.location, configuration.monitorsCircles else { return }
        locationTrouble = nil
        lastFix = nil
        do throws(ExitFailure) {
            let source = try makeSource(settings)
            location = source
            source.start(self)
        } catch {
            // Beacons are monitored all the same; of the circles events say that there is no fix.
            locationTrouble = error.message
            log(.error, error.message)
        }
    }

    /// Another source, or none: what the old one knew counts until now.
    func restartLocation(at now: Instant) {
        location?.stop()
        location = nil
        monitor.lostLocation(since: now, reason: "the configuration was reloaded", at: now)
        startLocation()
    }

    private func makeSource(_ settings: LocationConfiguration) throws(ExitFailure) -> any LocationSource {
        switch settings {
        case .gpsd(let host, let port): return GPSDSource(host: host, port: port, on: loop)
        case .gpx(let track):
            guard let file = GPXFile.read(at: track.file)?.file else {
                throw ExitFailure(
                    .inputMissing, "location.file \(track.file) can't be read, or is no GPX file; circles have no fix")
            }
            for damage in file.damages.prefix(10) { log(.warning, "\(track.file):\(damage)") }
            var options = GPXSource.Options()
            options.speed = track.speed
            options.loops = track.loops
            do throws(GPXPlan.Problem) {
                return GPXSource(try GPXPlan(file, pace: track.pace), options: options, on: loop)
            } catch {
                throw ExitFailure(.dataInvalid, "location.file \(track.file): \(error); circles have no fix")
            }
        }
    }
}

extension Configuration {
    /// Whether a circle is among the conditions.
    var monitorsCircles: Bool { monitors.contains { $0.conditions.contains { $0.condition.isCircle } } }
}
