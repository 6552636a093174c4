import BeaconMonitoring
package import BluetoothLE
package import CommandSupport
import EventLog
package import SystemPackage

/// What lines name, so that what nobody named is not taken for what was not here.
struct NamedSubjects {
    // For the nearest name, not for the answer.
    private static let namesMax = 10_000

    private let condition: String?
    private let filter: BeaconFilter?
    /// Whether a line names the condition that was asked for.
    private(set) var hasCondition = false
    /// Whether a line names a beacon that was asked for.
    private(set) var hasBeacon = false
    private(set) var conditions: Set<String> = []
    private(set) var beacons: Set<BeaconIdentity> = []

    init(condition: String?, beacon: BeaconFilter?) {
        self.condition = condition
        filter = beacon
    }

    /// Takes in a line, wanted or not.
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

/// That a report has nothing to tell, in words that say why: nothing found is not nobody.
package enum NothingFound {
    /// Folders without an event file.
    static func check(_ reader: LogReader) throws(ExitFailure) {
        guard let folder = reader.emptyFolders.first else { return }
        throw ExitFailure(
            .inputMissing,
            "\(folder.string) holds no event files (events-….jsonl); name the folder that the gateway writes to "
                + "(output.directory)")
    }

    /// Files that no gateway wrote, and those in which nothing stands; once they have been read.
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

    /// A range of time of which nothing is told, and names that no line names.
    static func check(
        _ options: VisitsOptions, _ books: VisitsBooks, _ named: NamedSubjects, untilMade: Bool
    ) throws(ExitFailure) {
        guard let first = books.first, var asOf = books.asOf else { return }
        // A gateway that is alive knows who is present when the report is made.
        if untilMade, let made = options.made, books.proofs(at: made).contains(where: { $0.state == .alive }) {
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

    /// That the files tell of another time.
    static func unknownRange(_ range: String, _ told: (first: WallDate, last: WallDate), _ time: VisitsTime) -> String {
        "there is no data for the time \(range); the files cover \(time.text(told.first)) to \(time.text(told.last))"
    }

    /// The UUIDs of the beacons that lines of a folder name with a major and a minor, where event files stand in it.
    ///
    /// - Parameters:
    ///   - major: the major.
    ///   - minor: the minor.
    ///   - folder: the folder.
    /// - Returns: the UUIDs; more than a thousand are as good as that many.
    /// - Throws: ``ExitFailure`` where there is no event file, or what is there is none, in the words of the reports.
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

    /// The nearest of the names that there are, else some of them.
    static func near(_ name: String, among names: Set<String>, of kind: String) -> String {
        let sorted = names.sorted()
        if let nearest = NameSuggestion.nearest(to: name, among: sorted) { return "did you mean “\(nearest)”?" }
        guard !sorted.isEmpty else { return "the files contain no \(kind)" }
        return "the files contain \(sorted.prefix(8).joined(separator: ", "))\(sorted.count > 8 ? ", …" : "")"
    }
}
