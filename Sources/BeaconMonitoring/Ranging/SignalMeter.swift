package import BaseTypes
package import BluetoothLE

/// The signal strengths and the number of reports of one advertiser in the last seconds, in a fixed amount of memory.
///
/// Reports are counted per whole second of the timeline. The interval of a mean is therefore its seconds, minus the
/// rest of the current second. Sums are whole dBm, so a mean is exact and does not depend on the order of the readings.
package struct SignalMeter: Sendable {
    private struct Second: Sendable {
        var reports: Int32 = 0
        /// The number of reports with an RSSI, and the sum of their RSSI values.
        var strengths: Int32 = 0
        var sum: Int32 = 0
    }

    /// The number of stored seconds. It is long enough for a rate of beacons that advertise every few seconds.
    package static let secondsMax = 10

    private var seconds = InlineArray<10, Second>(repeating: Second())
    private var newest: Int64
    private let first: Instant

    /// Creates an empty meter at the time of the first report.
    package init(at time: Instant) {
        first = time
        newest = Self.second(of: time)
    }

    /// Adds a report. A report with a time before that of the previous one counts for the second of the previous one.
    package mutating func received(_ rssi: RSSI?, at time: Instant) {
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

    /// The values of several seconds.
    package struct Reading: Sendable, Hashable {
        /// The number of reports.
        package var reports = 0
        /// The number of reports with an RSSI.
        package var strengths = 0
        /// The sum of the RSSI values in dBm.
        package var sum = 0

        /// The mean RSSI in dBm; `nil` if no report had an RSSI.
        package var mean: Double? { strengths > 0 ? Double(sum) / Double(strengths) : nil }

        /// The mean RSSI in tenths of dBm, halves rounded away from zero; `nil` if no report had an RSSI.
        package var tenths: Int? {
            guard strengths > 0 else { return nil }
            return (sum * 20 + (sum < 0 ? -strengths : strengths)) / (2 * strengths)
        }
    }

    /// Returns the values of the last `count` seconds, 1 … ``secondsMax``, including the current one.
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

    /// Returns the number of reports per second in tenths, over the last ``secondsMax`` seconds or since the first
    /// report if that is less.
    package func rate(at now: Instant) -> Int {
        let count = reading(of: Self.secondsMax, at: now).reports
        let stretch = (now - Instant(nanoseconds: (Self.second(of: now) - 9) * 1_000_000_000)).nanoseconds
        // An advertiser that was received for less than a second has no meaningful rate, so one second is used.
        let observed = max(min(stretch, (now - first).nanoseconds), 1_000_000_000)
        return Int((Int64(count) * 10_000_000_000 + observed / 2) / observed)
    }

    // The stored seconds among the last `count`.
    private func recent(_ count: Int, at now: Instant) -> Range<Int64> {
        let present = max(Self.second(of: now), newest)
        let start = max(present - Int64(count) + 1, newest - Int64(Self.secondsMax) + 1, 0)
        return start..<max(newest + 1, start)
    }

    private func place(_ second: Int64) -> Int { Int(second % Int64(Self.secondsMax)) }

    private static func second(of time: Instant) -> Int64 { max(time.nanoseconds, 0) / 1_000_000_000 }
}
