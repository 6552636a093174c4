package import BaseTypes
package import BeaconMonitoring
package import BluetoothLE
package import GatewayConfiguration

/// Computes the content of `ranging` lines from sightings and time. Only conditions that request ranging have such
/// lines.
///
/// Live operation and replays use it in the same way. If no condition has ranging, it is not created and costs nothing.
package struct RangingLines {
    /// The name of a condition in lines.
    package struct Name: Hashable {
        package let monitor: String
        package let identifier: String
    }

    private var ranger: Ranger
    private var names: [BeaconMonitor.BeaconIdentityCondition: [Name]] = [:]
    private var rangings: ContiguousArray<Ranging> = []

    /// Creates the ranging of a configuration.
    ///
    /// - Returns: `nil` if no condition of the configuration has ranging.
    package init?(_ configuration: Configuration) {
        ranger = Ranger(settings: configuration.ranging)
        apply(configuration)
        if names.isEmpty { return nil }
    }

    /// Returns the ranging for a reloaded configuration. Beacons in view stay in view if the settings for distances did
    /// not change.
    package static func reloaded(_ lines: RangingLines?, _ configuration: Configuration) -> RangingLines? {
        guard var lines, lines.ranger.settings == configuration.ranging else { return RangingLines(configuration) }
        lines.apply(configuration)
        return lines.names.isEmpty ? nil : lines
    }

    private mutating func apply(_ configuration: Configuration) {
        names = [:]
        for monitor in configuration.monitors {
            for setup in monitor.conditions where setup.ranging {
                guard case .beacon(let condition) = setup.condition else { continue }
                names[condition, default: []].append(
                    Name(monitor: monitor.name.text, identifier: setup.identifier.text))
            }
        }
        for condition in ranger.conditions where names[condition] == nil { ranger.remove(condition) }
        // The conditions are added in the order of the file, so that the lines are always in the same order.
        for monitor in configuration.monitors {
            for case .beacon(let condition) in monitor.conditions.lazy.filter(\.ranging).map(\.condition) {
                ranger.add(condition)
            }
        }
    }

    /// The time of the next result; `nil` if there is none.
    package var nextDeadline: Instant? { ranger.nextDeadline }
    /// The number of beacons in view.
    package var beacons: Int { ranger.beacons }
    /// The number of sightings that were dropped because too many beacons were stored.
    package var unplaced: Int { ranger.unplaced }
    /// The number of beacons in view that were left out of lines, because too many were nearer.
    package var unlisted: Int { ranger.unlisted }

    /// Adds a sighting. Results that are due by its time must have been reported before.
    package mutating func sighted(_ frame: BeaconFrame, at time: Instant) {
        let beacon = frame.beacon
        ranger.sighted(beacon.identity, measuredPower: beacon.measuredPower, rssi: frame.rssi, at: time)
    }

    /// Reports the results that are due at or before `time`, which must not be after the next deadline.
    package mutating func report(
        at time: Instant, clockOffset: ClockOffset, _ body: (Ranging, Name) -> Void
    ) {
        ranger.advance(to: time, clockOffset: clockOffset, into: &rangings)
        for ranging in rangings {
            for name in names[ranging.condition] ?? [] { body(ranging, name) }
        }
        rangings.removeAll(keepingCapacity: true)
    }
}
