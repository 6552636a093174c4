package import Captures
package import GatewayConfiguration

/// The options of a replay.
package struct ReplayOptions: Sendable {
    /// One capture, with a prefix for the names of its adapters if it has a name.
    package struct Input: Sendable {
        /// The first level of the names of its adapters (rule L4).
        package var name: String?
        /// The source of the capture.
        package var capture: CaptureInput

        /// Creates an input. If `name` is `nil`, its adapters have their own names without a prefix.
        package init(_ capture: CaptureInput, name: String? = nil) {
            self.capture = capture
            self.name = name
        }

        /// Creates an input from an argument of the command line: `FILE`, `NAME=FILE` or `-`. A name must not contain
        /// `/`. An argument with `=` is the name of a file if that file exists, and none exists after the `=`.
        ///
        /// - Parameters:
        ///   - argument: the argument.
        ///   - exists: whether a file exists.
        package init(argument: String, exists: (_ path: String) -> Bool) {
            self.init(.path(argument))
            guard let sign = argument.firstIndex(of: "="), sign > argument.startIndex,
                !argument[..<sign].contains("/")
            else { return }
            let path = String(argument[argument.index(after: sign)...])
            if path != "-", !exists(path), exists(argument) { return }
            (name, capture) = (String(argument[..<sign]), .path(path))
        }
    }

    /// The captures. Records with the same time are handled in this order.
    package var inputs: [Input]
    /// The configuration. If it is `nil`, each UUID becomes a condition at its first sighting.
    package var configuration: Configuration?
    /// The folder for the lines, which must be empty or not exist; `nil` means standard output.
    package var outputDirectory: String?
    /// The maximum speed as a multiple of real time; `nil` means as fast as possible.
    package var speed: Double?
    /// The permitted speeds. At the lowest, one day takes three years. Lower speeds would exceed the range of times.
    package static let speeds = 0.001...1_000_000
    /// Whether time continues after the last record until nothing more can become due (rule L4).
    package var settles = false
    /// Whether damage to a capture is not a failure.
    package var isLenient = false
    /// Whether sightings are written instead of lines.
    package var writesSightings = false
    /// Whether statistics are written to standard error.
    package var writesStatistics = false
    /// Whether lines to standard output wait for the first beacon, and are not written if there is none. This is for
    /// terminals.
    package var waitsForBeacons = false
    /// Whether events are written to standard output as short lines for people, without evidence and ranging, instead
    /// of JSON.
    package var writesText = false
    /// Whether an `evidence` line is written after each exit.
    package var writesEvidence = false
    /// The only adapter whose records are used; `nil` means all.
    package var adapter: String?
    /// How long records are delayed so that they can be sorted.
    package var reorder: Duration?
    /// The time between the records of a capture without times. It must be set for such a capture, unless sightings are
    /// written.
    package var interval: Duration?
    /// The speed on a track without times, in meters per second.
    package var pace: Double?
    /// The names of the fields in a log, if they are not the standard ones.
    package var fields = FieldMap()
    /// The time zone of times without one. If it is `nil`, those of hcidump are read as UTC, which is reported, and
    /// those of a log are refused.
    package var zone: CaptureZone?
    /// The number of bytes that are read at once.
    package var windowSize = CaptureOptions().windowSize

    /// Creates a replay of `inputs` with default options.
    package init(inputs: [Input]) { self.inputs = inputs }
}
