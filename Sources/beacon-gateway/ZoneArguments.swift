import ArgumentParser
import Captures
import CommandSupport
import Replaying
import Reports

/// The time zone in which dates are read and printed: that of --zone, UTC, that of `TZ`, or that of the machine.
struct ZoneArguments: ParsableArguments {
    @Flag(help: "Read and print dates in UTC.")
    var utc = false

    @Option(help: ArgumentHelp("Read and print dates in this time zone, such as Europe/Vienna.", valueName: "name"))
    var zone: String?

    /// The conversion of dates in this time zone.
    var time: ZonedTime { ZonedTime(isUTC: utc) }

    /// Rejects a time zone that this machine does not know, which the C library would silently treat as UTC.
    ///
    /// It runs before the validation of the command that includes these arguments, so that given dates are read in this
    /// zone.
    func validate() throws {
        if let zone {
            if utc { throw ValidationError("use only one of --utc and --zone") }
            guard ZonedTime.use(zone: zone) else { throw Self.unknown("--zone", zone) }
            return
        }
        try Self.check(isUTC: utc)
    }

    /// Rejects a `TZ` that is not a known time zone.
    static func check(isUTC: Bool) throws {
        if !isUTC, let zone = ZonedTime.unknownZone { throw unknown("TZ", zone) }
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
    /// Returns arguments with `--from=-12h` in place of `--from -12h`.
    ///
    /// The argument parser reads an argument that starts with a hyphen as options. It would not find the date or,
    /// because of the `h`, print the help.
    static func joined(_ arguments: [String]) -> [String] {
        var joined: [String] = []
        for (index, argument) in arguments.enumerated() {
            let isAgo = argument.hasPrefix("-") && argument.dropFirst().first?.isNumber ?? false
            let takesDate = index > 0 && ["--from", "--to", "--on", "--at", "--before"].contains(arguments[index - 1])
            if isAgo, takesDate, !joined.contains("--") {
                joined[joined.count - 1] += "=\(argument)"
            } else {
                joined.append(argument)
            }
        }
        return joined
    }

    /// Returns the date of an option; `nil` if it was not given. `option` is the name without hyphens.
    ///
    /// - Throws: `ValidationError` if the date does not exist.
    static func checked(_ text: String?, of option: String, in time: ZonedTime) throws(ValidationError) -> GivenDate? {
        guard let text else { return nil }
        do {
            return try GivenDate(text, in: time, now: .machine)
        } catch {
            throw ValidationError("--\(option) is \(text); \(error)")
        }
    }
}

/// How a capture is read: the names of fields in a log, and the time zone of times without one.
struct CaptureArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The names of fields in a log, if they are not the standard ones, such as adapter=scannerID,measuredPower=power.",
            valueName: "map"))
    var fields: String?

    @Option(
        help: ArgumentHelp(
            "The time zone of times without one, such as Europe/Vienna: those of hcidump -t, and of a log without offsets. Also that of times on a terminal.",
            valueName: "name"))
    var zone: String?

    /// Returns the names of the fields.
    ///
    /// - Throws: ``ExitFailure`` if they are not valid.
    func fieldMap() throws(ExitFailure) -> FieldMap {
        guard let fields else { return FieldMap() }
        do throws(CaptureError) { return try FieldMap(fields) } catch { throw ExitFailure(error) }
    }

    /// The time zone for a capture reader; `nil` if it was not given.
    var captureZone: CaptureZone? {
        guard let zone else { return nil }
        let time = ZonedTime(isUTC: false)
        return CaptureZone(name: zone) { time.offset(atSecond: $0) }
    }

    func validate() throws {
        if let zone, !ZonedTime.use(zone: zone) { throw ZoneArguments.unknown("--zone", zone, utc: "--zone UTC") }
    }
}
