package import BeaconMonitoring
import BluetoothLE
package import SystemPackage

/// What `visits` is asked for.
package struct VisitsOptions: Sendable {
    /// How it is told.
    package enum Format: Sendable {
        /// For people.
        case table
        /// A JSON object a line.
        case json
        /// RFC 4180, with a line of headings.
        case csv
    }

    /// Folders of event files, or files.
    package var places: [FilePath]
    /// Only what ends after it.
    package var from: WallDate?
    /// Only what begins before it.
    package var to: WallDate?
    /// Only of this condition.
    package var condition: String?
    /// Only of these beacons.
    package var beacon: BeaconFilter?
    /// How dates are told.
    package var time = VisitsTime(isUTC: false)
    /// How it is told on standard output.
    package var format = Format.table
    /// The page that is written in place of that.
    package var html: FilePath?

    /// All visits in `places`.
    package init(places: [FilePath]) { self.places = places }
}

/// Beacons that somebody named: `UUID`, `UUID/MAJOR`, `UUID/MAJOR/MINOR`, `MAJOR/MINOR`.
package struct BeaconFilter: Sendable, Hashable {
    private let uuid: ProximityUUID?
    private let major: UInt16?
    private let minor: UInt16?

    /// The beacons that `text` names; `nil` where it names none.
    package init?(_ text: String) {
        var parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = parts.first, parts.count <= 3 else { return nil }
        uuid = ProximityUUID(first)
        if uuid != nil { parts.removeFirst() } else if parts.count != 2 { return nil }
        let numbers = parts.map { UInt16($0) }
        guard numbers.allSatisfy({ $0 != nil }) else { return nil }
        major = numbers.first ?? nil
        minor = numbers.count > 1 ? numbers[1] : nil
    }

    func matches(_ beacon: BeaconIdentity) -> Bool {
        (uuid == nil || uuid == beacon.uuid) && (major == nil || major == beacon.major)
            && (minor == nil || minor == beacon.minor)
    }
}
