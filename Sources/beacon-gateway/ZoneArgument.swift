import ArgumentParser
import EventReports

/// The zone in which dates are told and taken: the machine's, or what `TZ` names.
enum ZoneArgument {
    /// Refuses a `TZ` that names no zone, which the C library would take for UTC without a word.
    static func check(isUTC: Bool) throws {
        guard !isUTC, let zone = VisitsTime.unknownZone else { return }
        throw ValidationError(
            """
            TZ is \(zone), which is no time zone that this machine knows; name one that `timedatectl list-timezones` lists \
            (the package tzdata has them), or say --utc
            """)
    }
}
