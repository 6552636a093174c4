import BaseTypes

/// The time zone for a capture whose times have none.
///
///     let vienna = CaptureZone(name: "Europe/Vienna") { seconds in
///         Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval(seconds))))
///     }
///     var reader = try CaptureReader(.path(path), options: CaptureOptions(zone: vienna))
public struct CaptureZone: Sendable {
    /// The name in messages: `Europe/Vienna`.
    public let name: String
    let secondsAheadOfUTC: @Sendable (Int64) -> Int64

    /// Creates a zone.
    ///
    /// - Parameters:
    ///   - name: the name in messages.
    ///   - secondsAheadOfUTC: returns how far the clocks of the zone are ahead of UTC at an instant; both in seconds,
    ///     the instant since 1970. The offset must not change twice within two days.
    public init(name: String, secondsAheadOfUTC: @escaping @Sendable (Int64) -> Int64) {
        self.name = name
        self.secondsAheadOfUTC = secondsAheadOfUTC
    }
}

/// The times without a zone in a capture, and the results of converting them.
public struct LocalTimes: Sendable {
    /// A time that is about an hour before the previous one: the clock was probably changed.
    public struct ClockChange: Sendable, Hashable {
        /// The line of the later record, from 1.
        public let line: Int
        /// The size of the step back in seconds: 2,700…3,900.
        public let seconds: Int
    }

    /// The number of times without a zone.
    public private(set) var count = 0
    /// The zone in which they were read; `nil` means UTC.
    public let zone: CaptureZone?
    /// The first step back of 45 to 65 minutes.
    public private(set) var clockChange: ClockChange?

    /// The line of the first time in a repeated hour whose occurrence is unknown: no time is within ten minutes before
    /// it, and none after it steps back.
    public var ambiguousLine: Int? { unresolvedLine ?? pendingLine }

    // A local time in a repeated hour can step back this far and still be in its first occurrence.
    private static let toleranceSeconds = 60
    private static let gapMaxSeconds = 600
    private var last: Int?
    // The instants of the local minute that was converted last.
    private var minute = Int.min
    private var first: Int?
    private var second: Int?
    private var pendingLine: Int?
    private var unresolvedLine: Int?

    init(zone: CaptureZone?) { self.zone = zone }

    /// Returns the instant of a local time; both in seconds since 1970.
    ///
    /// A time in a repeated hour is its first occurrence, unless that is more than a minute before the time that was
    /// followed last, because times in a log increase. With `notAfter`, it is the last occurrence that is not after
    /// that. Returns `nil` if the clocks of the zone never show the time.
    mutating func instant(of local: Int, notAfter: Int? = nil) -> Int? {
        guard let zone else { return local }
        // Since 1972, the offset of every zone is a whole number of minutes and changes at a whole minute.
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

    /// Records the time of a valid record in seconds since 1970. It decides the occurrence of later local times.
    ///
    /// A local time must be the one that ``instant(of:notAfter:)`` converted last.
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
