import BluetoothLE

/// How strong and how often one advertiser was heard in the last seconds, in a fixed number of octets.
///
/// Reports are counted by whole seconds of the timeline: so the stretch that a mean is taken over is its seconds but for the
/// part of the present one that is still to come.
struct SignalMeter: Sendable {
    private struct Second: Sendable {
        var reports: Int32 = 0
        /// Reports that have an RSSI, and the sum of these.
        var strengths: Int32 = 0
        var sum: Int32 = 0
    }

    /// A person who walks has gone some metres in that time; a beacon that is heard ten times a second has fifty readings.
    static let strengthSeconds = 5
    /// Twice as long: beacons that are heard every few seconds have a rate too.
    static let rateSeconds = 10

    private var seconds = InlineArray<10, Second>(repeating: Second())
    private var newest: Int64
    private let first: Instant

    /// Begins with nothing heard, at the time of the first report.
    init(at time: Instant) {
        first = time
        newest = Self.second(of: time)
    }

    /// A report; one stamped earlier than the one before counts for that one's second.
    mutating func heard(_ rssi: RSSI?, at time: Instant) {
        let second = Self.second(of: time)
        if second > newest {
            let empty = min(second - newest, Int64(Self.rateSeconds))
            for passed in 0..<empty { seconds[place(second - passed)] = Second() }
            newest = second
        }
        let index = place(newest)
        seconds[index].reports &+= 1
        guard let rssi else { return }
        seconds[index].strengths &+= 1
        seconds[index].sum &+= Int32(rssi.dBm)
    }

    /// The mean RSSI of the last ``strengthSeconds`` in tenths of dBm, half away from zero; absent where none was told.
    func strength(at now: Instant) -> Int? {
        var (count, sum) = (0, 0)
        for second in recent(Self.strengthSeconds, at: now) {
            count += Int(seconds[place(second)].strengths)
            sum += Int(seconds[place(second)].sum)
        }
        guard count > 0 else { return nil }
        let doubled = sum * 20 + (sum < 0 ? -count : count)
        return doubled / (2 * count)
    }

    /// Reports a second over the last ``rateSeconds``, or since the first where that is less; in tenths.
    func rate(at now: Instant) -> Int {
        var count = 0
        for second in recent(Self.rateSeconds, at: now) { count += Int(seconds[place(second)].reports) }
        let stretch = (now - Instant(nanoseconds: (Self.second(of: now) - 9) * 1_000_000_000)).nanoseconds
        // What was first heard a moment ago has no rate yet that means more than its number.
        let heard = max(min(stretch, (now - first).nanoseconds), 1_000_000_000)
        return Int((Int64(count) * 10_000_000_000 + heard / 2) / heard)
    }

    // The seconds that are kept, of the last so many.
    private func recent(_ count: Int, at now: Instant) -> Range<Int64> {
        let present = max(Self.second(of: now), newest)
        let start = max(present - Int64(count) + 1, newest - Int64(Self.rateSeconds) + 1, 0)
        return start..<max(newest + 1, start)
    }

    private func place(_ second: Int64) -> Int { Int(second % Int64(Self.rateSeconds)) }

    private static func second(of time: Instant) -> Int64 { max(time.nanoseconds, 0) / 1_000_000_000 }
}
