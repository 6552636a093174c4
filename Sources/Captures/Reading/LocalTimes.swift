import BaseTypes

/// The time zone of a capture whose times name none.
public struct CaptureZone: Sendable {
    /// Its name, for messages: `Europe/Vienna`.
    public let name: String
    let secondsAheadOfUTC: @Sendable (Int64) -> Int64

    /// Creates a zone.
    ///
    /// - Parameters:
    ///   - name: its name, for messages.
    ///   - secondsAheadOfUTC: returns how far the zone's clocks are ahead of UTC at an instant; both in seconds, the instant
    ///     since 1970. It must not change twice within two days.
    public init(name: String, secondsAheadOfUTC: @escaping @Sendable (Int64) -> Int64) {
        self.name = name
        self.secondsAheadOfUTC = secondsAheadOfUTC
    }
}

/// The times without a zone in a capture, and how the reader placed them.
public struct LocalTimes: Sendable {
    /// A time that is about an hour earlier than the time before it: the clock was probably changed.
    public struct ClockChange: Sendable, Hashable {
        /// The line of the later record, from 1.
        public let line: Int
        /// How far the time goes back, in seconds: 2,700…3,900.
        public let seconds: Int
    }

    /// How many times without a zone were read.
    public private(set) var count = 0
    /// The zone in which they were read; if it is absent, UTC was assumed.
    public let zone: CaptureZone?
    /// The first step back of 45 to 65 minutes.
    public private(set) var clockChange: ClockChange?

    /// The line of the first time in a repeated hour for which nothing shows which occurrence it is: no time is within ten
    /// minutes before it, and none after it steps back.
    public var ambiguousLine: Int? { unresolvedLine ?? pendingLine }

    // A local time in a repeated hour may step back that far and still be in its first occurrence.
    private static let toleranceSeconds = 60
    private static let gapMaxSeconds = 600
    private var last: Int?
    // The instants of the local minute that was placed last.
    private var minute = Int.min
    private var first: Int?
    private var second: Int?
    private var pendingLine: Int?
    private var unresolvedLine: Int?

    init(zone: CaptureZone?) { self.zone = zone }

    /// Returns the instant of a local time; both in seconds since 1970.
    ///
    /// A time in a repeated hour is its first occurrence, unless that is more than a minute before the time that was
    /// followed last: times in a log go forward. With `notAfter` it is the last occurrence that is not after that. If the
    /// zone's clocks never show the time, the result is `nil`.
    mutating func instant(of local: Int, notAfter: Int? = nil) -> Int? {
        guard let zone else { return local }
        // Since 1972 every zone's offset is a whole number of minutes, and changes at a whole minute.
        let inMinute = (local % 60 + 60) % 60
        if local - inMinute != minute {
            minute = local - inMinute
            let instants = CivilDate.instants(local: Int64(minute), secondsAheadOfUTC: zone.secondsAheadOfUTC)
            first = instants.first.map { Int($0) }
            second = instants.count > 1 ? Int(instants[1]) : nil
        }
        guard let first else { return nil }
        guard let second else { return first + inMinute }
        let isSecond =
            notAfter.map { second + inMinute <= $0 } ?? last.map { first + inMinute < $0 - Self.toleranceSeconds }
        return (isSecond ?? false ? second : first) + inMinute
    }

    /// Notes the time of a valid record, in seconds since 1970, which decides the occurrence of local times that follow.
    ///
    /// A local time must be the one that ``instant(of:notAfter:)`` placed last.
    mutating func follow(_ time: Int, isLocal: Bool, line: Int) {
        defer { last = time }
        guard isLocal else { return }
        count += 1
        if let last, clockChange == nil, 2_700...3_900 ~= last - time {
            clockChange = ClockChange(line: line, seconds: last - time)
        }
        if let second {
            if time >= second {
                pendingLine = nil
            } else if pendingLine == nil, last.map({ time - $0 > Self.gapMaxSeconds }) ?? true {
                pendingLine = line
            }
        } else if let pendingLine {
            unresolvedLine = unresolvedLine ?? pendingLine
            self.pendingLine = nil
        }
    }
}
