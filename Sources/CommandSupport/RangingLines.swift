package import BaseTypes
package import BeaconMonitoring
package import BluetoothLE
package import GatewayConfiguration

/// Ranging for the conditions that ask for it: sightings and time in, what makes `ranging` lines out.
///
/// Live and in a replay alike. Where no condition asks there is none of it, and nothing is done.
package struct RangingLines {
    /// A condition's name in lines.
    package struct Name: Hashable {
        package let monitor: String
        package let identifier: String
    }

    private var ranger: Ranger
    private var names: [BeaconMonitor.BeaconIdentityCondition: [Name]] = [:]
    private var rangings: ContiguousArray<Ranging> = []

    /// - Returns: `nil` where no condition of the configuration is ranged.
    package init?(_ configuration: Configuration) {
        ranger = Ranger(settings: configuration.ranging)
        apply(configuration)
        if names.isEmpty { return nil }
    }

    /// What a reloaded configuration has: who is in view stays so where distances are guessed as before.
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
        // In the order of the file: the same lines in the same order, each time.
        for monitor in configuration.monitors {
            for case .beacon(let condition) in monitor.conditions.lazy.filter(\.ranging).map(\.condition) {
                ranger.add(condition)
            }
        }
    }

    /// When something is next to be told.
    package var nextDeadline: Instant? { ranger.nextDeadline }
    /// How many beacons are in view.
    package var beacons: Int { ranger.beacons }
    /// Sightings of beacons that found no place.
    package var unplaced: Int { ranger.unplaced }
    /// Beacons in view that were left out of lines, where too many were nearer.
    package var unlisted: Int { ranger.unlisted }

    /// A beacon was sighted; what is due by then has been told.
    package mutating func sighted(_ frame: BeaconFrame, at time: Instant) {
        let beacon = frame.beacon
        ranger.sighted(beacon.identity, measuredPower: beacon.measuredPower, rssi: frame.rssi, at: time)
    }

    /// Tells what is due at or before `time`, which is at most the next deadline.
    package mutating func tell(
        at time: Instant, clockOffset: ClockOffset, _ body: (Ranging, Name) -> Void
    ) {
        ranger.advance(to: time, clockOffset: clockOffset, into: &rangings)
        for ranging in rangings {
            for name in names[ranging.condition] ?? [] { body(ranging, name) }
        }
        rangings.removeAll(keepingCapacity: true)
    }
}
