import BaseTypes
import JSON

// The times of an advertisement log's objects.
extension CaptureReader {
    /// The time of the object at `line`.
    @inline(__always) mutating func time(_ line: Int) throws(LogProblem) -> Instant? {
        guard let value = log.value(.time, window) else {
            guard timesAreKnown && hasTimes else { return nil }
            throw LogProblem(.time, "is absent")
        }
        guard !timesAreKnown || hasTimes else { throw LogProblem(.time, "is there, and was not before") }
        return try time(of: value, .time, line: line, notAfter: nil)
    }

    /// The time from which on the adapter was not listening, for an object with the time `notAfter`.
    mutating func since(_ value: LogValue, notAfter: Instant?) throws(LogProblem) -> Instant {
        try time(of: value, .since, line: nil, notAfter: notAfter)
    }

    @inline(__always) private mutating func time(
        of value: LogValue, _ field: LogField, line: Int?, notAfter: Instant?
    ) throws(LogProblem) -> Instant {
        switch value.kind {
        case .number:
            guard let number = DecimalNumber(window.span, value.start, value.end) else {
                throw LogProblem(field, "is not a number")
            }
            guard let instant = Self.instant(number.nanoseconds) else {
                throw LogProblem(
                    field,
                    """
                    is \(quoted(value.start, value.end)), in \(number.timeUnit) \(Self.date(of: number.nanoseconds)); must be \
                    within 1970…2100
                    """)
            }
            if let line, localTimes.zone != nil {
                localTimes.follow(Int(instant.nanoseconds / 1_000_000_000), isLocal: false, line: line)
            }
            return instant
        case .string: return try time(ofText: value, field, line: line, notAfter: notAfter)
        default: throw LogProblem(field, "is neither text nor a number")
        }
    }

    @inline(__always) private mutating func time(
        ofText value: LogValue, _ field: LogField, line: Int?, notAfter: Instant?
    ) throws(LogProblem) -> Instant {
        let end = text(value)
        guard let time = LogText.time(window.span, value.start, end) else {
            throw LogProblem(
                field,
                "is \"\(quoted(value.start, end))\"; must be a time such as 2026-11-21T07:46:27.123456Z (RFC 3339)")
        }
        var seconds = time.seconds
        if time.isLocal { seconds = try placed(seconds, value.start, end, field, notAfter) }
        guard let instant = Self.instant(seconds: seconds, nanoseconds: time.nanoseconds) else {
            throw LogProblem(field, "is \"\(quoted(value.start, end))\"; must be within 1970…2100")
        }
        if let line, localTimes.zone != nil { localTimes.follow(seconds, isLocal: time.isLocal, line: line) }
        return instant
    }

    /// The instant of the local time in `start..<end`; both in seconds since 1970.
    private mutating func placed(
        _ local: Int, _ start: Int, _ end: Int, _ field: LogField, _ notAfter: Instant?
    ) throws(LogProblem) -> Int {
        guard let zone = localTimes.zone else {
            throw LogProblem(
                field, "is \"\(quoted(start, end))\", without an offset; name its zone with --zone, or append Z")
        }
        let latest = notAfter.map { Int($0.nanoseconds / 1_000_000_000) }
        guard let instant = localTimes.instant(of: local, notAfter: latest) else {
            throw LogProblem(
                field,
                "is \"\(quoted(start, end))\", which does not exist in \(zone.name): the clocks went forward over it")
        }
        return instant
    }

    /// The text between two places for a message, on one line: at most 40 bytes.
    private func quoted(_ start: Int, _ end: Int) -> String { LogProblem.quoted(window[start..<end], bytesMax: 40) }
}
