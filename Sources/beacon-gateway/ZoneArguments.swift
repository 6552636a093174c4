import ArgumentParser
import Captures
import Reports

/// The zone in which dates are told and taken: what --zone says, UTC, what `TZ` names, or the machine's.
struct ZoneArguments: ParsableArguments {
    @Flag(help: "Read and print dates in UTC.")
    var utc = false

    @Option(help: ArgumentHelp("Read and print dates in this time zone, such as Europe/Vienna.", valueName: "name"))
    var zone: String?

    /// Dates in that zone.
    var time: VisitsTime { VisitsTime(isUTC: utc) }

    /// Refuses a zone that this machine does not know, which the C library would take for UTC without a word.
    ///
    /// It runs before what it is a part of is checked, so that dates given are taken in the zone.
    func validate() throws {
        if let zone {
            if utc { throw ValidationError("use only one of --utc and --zone") }
            guard VisitsTime.use(zone: zone) else { throw Self.unknown("--zone", zone) }
            return
        }
        try Self.check(isUTC: utc)
    }

    /// Refuses a `TZ` that names no zone.
    static func check(isUTC: Bool) throws {
        if !isUTC, let zone = VisitsTime.unknownZone { throw unknown("TZ", zone) }
    }

    fileprivate static func unknown(_ what: String, _ zone: String, utc: String = "--utc") -> ValidationError {
        ValidationError(
            """
            \(what) is \(zone), which is not a time zone of this machine; use one that `timedatectl list-timezones` lists \
            (they are in the package tzdata), or \(utc)
            """)
    }
}

extension GivenDate {
    /// Returns the date of an option, which is named without hyphens; `nil` if it was not given.
    ///
    /// - Throws: `ValidationError` if there is no such date.
    static func checked(_ text: String?, of option: String, in time: VisitsTime) throws(ValidationError) -> GivenDate? {
        guard let text else { return nil }
        do {
            return try GivenDate(text, in: time)
        } catch {
            throw ValidationError("--\(option) is \(text); \(error)")
        }
    }
}

/// The zone of a capture whose times name none.
struct LocalTimeArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The time zone of times without one, such as Europe/Vienna: those of hcidump -t, and of a log without offsets.",
            valueName: "name"))
    var zone: String?

    /// The zone, for a reader.
    var captureZone: CaptureZone? {
        guard let zone else { return nil }
        let time = VisitsTime(isUTC: false)
        return CaptureZone(name: zone) { time.offset(atSecond: $0) }
    }

    func validate() throws {
        if let zone, !VisitsTime.use(zone: zone) { throw ZoneArguments.unknown("--zone", zone, utc: "--zone UTC") }
    }
}
