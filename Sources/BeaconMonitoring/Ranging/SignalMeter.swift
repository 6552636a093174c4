package import BaseTypes
package import BluetoothLE

/// How strong and how often one advertiser was heard in the last seconds, in a fixed number of octets.
///
/// Reports are counted by whole seconds of the timeline: so the stretch that a mean is taken over is its seconds but for the
/// part of the present one that is still to come. Sums are kept in whole dBm, so a mean is exact, whatever the order of the
/// readings, and what is older than its seconds is gone without a trace.
package struct SignalMeter: Sendable {
    private struct Second: Sendable {
        var reports: Int32 = 0
        /// Reports that have an RSSI, and the sum of these.
        var strengths: Int32 = 0
        var sum: Int32 = 0
    }

    /// How many seconds are remembered: beacons that are heard every few seconds have a rate too.
    package static let secondsMax = 10

    private var seconds = InlineArray<10, Second>(repeating: Second())
    private var newest: Int64
    private let first: Instant

    /// Begins with nothing heard, at the time of the first report.
    package init(at time: Instant) {
        first = time
        newest = Self.second(of: time)
    }

    /// A report; one stamped earlier than the one before counts for that one's second.
    package mutating func heard(_ rssi: RSSI?, at time: Instant) {
        let second = Self.second(of: time)
        if second > newest {
            let empty = min(second - newest, Int64(Self.secondsMax))
            for passed in 0..<empty { seconds[place(second - passed)] = Second() }
            newest = second
        }
        let index = place(newest)
        seconds[index].reports &+= 1
        guard let rssi else { return }
        seconds[index].strengths &+= 1
        seconds[index].sum &+= Int32(rssi.dBm)
    }

    /// What was heard in some seconds.
    package struct Reading: Sendable, Hashable {
        /// How many reports were heard.
        package var reports = 0
        /// How many of them have an RSSI.
        package var strengths = 0
        /// The sum of these, in dBm.
        package var sum = 0

        /// The mean RSSI in dBm; absent where none was told.
        package var mean: Double? { strengths > 0 ? Double(sum) / Double(strengths) : nil }

        /// The mean RSSI in tenths of dBm, half away from zero; absent where none was told.
        package var tenths: Int? {
            guard strengths > 0 else { return nil }
            return (sum * 20 + (sum < 0 ? -strengths : strengths)) / (2 * strengths)
        }
    }

    /// What was heard in the last `count` seconds, 1 … ``secondsMax``, the present one among them.
    package func reading(of count: Int, at now: Instant) -> Reading {
        var reading = Reading()
        for second in recent(count, at: now) {
            let part = seconds[place(second)]
            reading.reports += Int(part.reports)
            reading.strengths += Int(part.strengths)
            reading.sum += Int(part.sum)
        }
        return reading
    }

    /// Reports a second over the last ``secondsMax``, or since the first where that is less; in tenths.
    package func rate(at now: Instant) -> Int {
        let count = reading(of: Self.secondsMax, at: now).reports
        let stretch = (now - Instant(nanoseconds: (Self.second(of: now) - 9) * 1_000_000_000)).nanoseconds
        // What was first heard a moment ago has no rate yet that means more than its number.
        let heard = max(min(stretch, (now - first).nanoseconds), 1_000_000_000)
        return Int((Int64(count) * 10_000_000_000 + heard / 2) / heard)
    }

    // The seconds that are kept, of the last so many.
    private func recent(_ count: Int, at now: Instant) -> Range<Int64> {
        let present = max(Self.second(of: now), newest)
        let start = max(present - Int64(count) + 1, newest - Int64(Self.secondsMax) + 1, 0)
        return start..<max(newest + 1, start)
    }

    private func place(_ second: Int64) -> Int { Int(second % Int64(Self.secondsMax)) }

    private static func second(of time: Instant) -> Int64 { max(time.nanoseconds, 0) / 1_000_000_000 }
}
