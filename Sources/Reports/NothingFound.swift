import BeaconMonitoring
package import BluetoothLE
package import CommandSupport
import EventLog
package import SystemPackage

/// Collects the conditions and beacons of lines, so that an unknown name is not reported as an absence.
struct NamedSubjects {
    // Names are only collected to suggest the nearest one, not for the answer.
    private static let namesMax = 10_000

    private let condition: String?
    private let filter: BeaconFilter?
    /// Whether a line contains the requested condition.
    private(set) var hasCondition = false
    /// Whether a line contains a requested beacon.
    private(set) var hasBeacon = false
    private(set) var conditions: Set<String> = []
    private(set) var beacons: Set<BeaconIdentity> = []

    init(condition: String?, beacon: BeaconFilter?) {
        self.condition = condition
        filter = beacon
    }

    /// Adds a line, whether the report needs it or not.
    mutating func note(_ line: LogLine) {
        let beacon: BeaconIdentity?
        switch line.entry {
        case .event(let event): beacon = event.refinement
        case .visit(let visit): beacon = visit.refinement
        case .condition: beacon = nil
        case .adapter, .clock, .gateway, .evidence, .erased: return
        }
        if let condition, !hasCondition, let identifier = line.identifier {
            hasCondition = identifier == condition
            if conditions.count < Self.namesMax { conditions.insert(identifier) }
        }
        if let filter, !hasBeacon, let beacon {
            hasBeacon = filter.matches(beacon)
            if beacons.count < Self.namesMax { beacons.insert(beacon) }
        }
    }
}

/// The errors of a report that has found nothing, with the reason. They distinguish missing data from an absence.
package enum NothingFound {
    /// Checks that each folder has an event file.
    ///
    /// - Throws: ``ExitFailure`` (66) if one has none.
    static func check(_ reader: LogReader) throws(ExitFailure) {
        guard let folder = reader.emptyFolders.first else { return }
        throw ExitFailure(
            .inputMissing,
            "\(folder.string) holds no event files (events-….jsonl); name the folder that the gateway writes to "
                + "(output.directory)")
    }

    /// Checks the files after they were read.
    ///
    /// - Throws: ``ExitFailure`` if a file or folder has content but no line of a gateway (65), or if there are no
    ///   lines at all (66).
    static func check(afterReading reader: LogReader, _ paths: [FilePath]) throws(ExitFailure) {
        if let place = reader.foreignPlaces.first {
            throw ExitFailure(
                .dataInvalid,
                "\(place.string) holds no event lines, so no gateway wrote it; if it is a capture, create event files with "
                    + "`beacon-gateway replay --output FOLDER \(place.string)`")
        }
        guard reader.lines == 0 else { return }
        throw ExitFailure(
            .inputMissing, "there are no lines in \(paths.map(\.string).joined(separator: ", ")) yet")
    }

    /// Checks that the files have data for the requested range, and lines with the requested names.
    ///
    /// - Throws: ``ExitFailure`` (65) if they do not, with the range of the files or the nearest name.
    static func check(
        _ options: VisitsOptions, _ trackers: VisitTrackers, _ named: NamedSubjects, untilMade: Bool
    ) throws(ExitFailure) {
        guard let first = trackers.first, var asOf = trackers.asOf else { return }
        // If a gateway is alive, it is known which beacons are present when the report is made.
        if untilMade, let made = options.made, trackers.proofs(at: made).contains(where: { $0.state == .alive }) {
            asOf = max(asOf, made)
        }
        let (from, to) = (options.from ?? first, options.to ?? asOf)
        let time = options.time.showing(from: min(first, from), to: max(asOf, to))
        if options.from.map({ $0 >= asOf }) ?? false || options.to.map({ $0 <= first }) ?? false {
            let range = [
                options.from.map { "from \(time.text($0))" }, options.to.map { "to \(time.text($0))" },
            ].compactMap(\.self).joined(separator: " ")
            throw ExitFailure(.dataInvalid, unknownRange(range, (first, asOf), time))
        }
        if let condition = options.condition, !named.hasCondition {
            throw ExitFailure(
                .dataInvalid,
                missing("the condition “\(condition)”", near(condition, among: named.conditions, of: "condition")))
        }
        if let beacon = options.beacon, !named.hasBeacon {
            let known = named.beacons.map(\.numbers)
            throw ExitFailure(
                .dataInvalid, missing("the beacon \(beacon.text)", near(beacon.text, among: Set(known), of: "beacon")))
        }
    }

    /// Returns the message that the files do not cover a range.
    static func unknownRange(_ range: String, _ covered: (first: WallDate, last: WallDate), _ time: ZonedTime)
        -> String
    {
        "there is no data for the time \(range); the files cover \(time.text(covered.first)) to \(time.text(covered.last))"
    }

    /// Returns the UUIDs of the beacons in the lines of a folder that have this major and minor value.
    ///
    /// - Parameters:
    ///   - major: the major value.
    ///   - minor: the minor value.
    ///   - folder: the folder with event files.
    /// - Returns: the UUIDs, at most 1,000, because more do not help the caller.
    /// - Throws: ``ExitFailure`` if there is no event file, or if no gateway wrote the files, with the messages of the
    ///   reports.
    package static func uuids(
        of major: UInt16, _ minor: UInt16, in folder: FilePath
    ) throws(ExitFailure) -> Set<ProximityUUID> {
        var uuids: Set<ProximityUUID> = []
        do {
            var reader = try LogReader([folder])
            try check(reader)
            try reader.read([.event, .visit]) { line in
                if let beacon = line.refinement, beacon.major == major, beacon.minor == minor, uuids.count < 1000 {
                    uuids.insert(beacon.uuid)
                }
                return true
            }
            try check(afterReading: reader, [folder])
        } catch {
            throw ExitFailure(any: error)
        }
        return uuids
    }

    static func missing(_ what: String, _ hint: String) -> String { "no line contains \(what); \(hint)" }

    /// Returns a suggestion: the nearest of `names`, else the first eight of them.
    static func near(_ name: String, among names: Set<String>, of kind: String) -> String {
        let sorted = names.sorted()
        if let nearest = NameSuggestion.nearest(to: name, among: sorted) { return "did you mean “\(nearest)”?" }
        guard !sorted.isEmpty else { return "the files contain no \(kind)" }
        return "the files contain \(sorted.prefix(8).joined(separator: ", "))\(sorted.count > 8 ? ", …" : "")"
    }
}
