package import Captures
package import GatewayConfiguration

/// What a replay is asked for.
package struct ReplayOptions: Sendable {
    /// One capture, and the name that its adapters get in front where it has one.
    package struct Input: Sendable {
        /// The first level of its adapters' names (rule L4).
        package var name: String?
        /// Where the capture is read from.
        package var capture: CaptureInput

        /// A capture whose adapters have `name` in front of theirs, or their own names alone.
        package init(_ capture: CaptureInput, name: String? = nil) {
            self.capture = capture
            self.name = name
        }

        /// An input as the command line names it: `FILE`, `NAME=FILE`, `-`; a name holds no `/`.
        package init(argument: String) {
            guard let sign = argument.firstIndex(of: "="), sign > argument.startIndex,
                !argument[..<sign].contains("/")
            else {
                self.init(.path(argument))
                return
            }
            self.init(.path(String(argument[argument.index(after: sign)...])), name: String(argument[..<sign]))
        }
    }

    /// The captures; those at the same time go in this order.
    package var inputs: [Input]
    /// The configuration; without one each UUID becomes a condition at its first sighting.
    package var configuration: Configuration?
    /// The folder for the lines; standard output where absent.
    package var outputDirectory: String?
    /// How many times as fast as it was; as fast as it goes where absent.
    package var speed: Double?
    /// The speeds that are taken: at the lowest a day takes three years, and more would be beyond all times.
    package static let speeds = 0.001...1_000_000
    /// Whether time goes on after the last record until nothing is left to become due (rule L4).
    package var settles = false
    /// Whether damage to a capture is no failure.
    package var isLenient = false
    /// Whether sightings are written in place of lines.
    package var writesSightings = false
    /// Whether statistics are written to standard error.
    package var writesStatistics = false
    /// Whether lines to standard output wait for the first beacon, and are not written where none comes: for a terminal.
    package var waitsForBeacons = false
    /// Whether an `evidence` line stands beside each exit.
    package var writesEvidence = false
    /// The only adapter whose records count.
    package var adapter: String?
    /// How long records are held back to be put in order.
    package var reorder: Duration?
    /// The time between the records of a capture that has no times.
    package var interval: Duration?
    /// How fast a track without times was travelled, in metres a second.
    package var pace: Double?
    /// Other people's names for the fields of a log.
    package var fields = FieldMap()
    /// The zone of times that name none. If it is absent, those of hcidump are read as UTC, which is reported, and those of
    /// a log are refused.
    package var zone: CaptureZone?
    /// How many octets are read at once.
    package var windowSize = CaptureOptions().windowSize

    /// A replay of `inputs` with every option at its default.
    package init(inputs: [Input]) { self.inputs = inputs }
}
