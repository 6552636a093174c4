import BaseTypes

/// The part of the time in which an adapter scans: a window at the start of each interval.
///
///     let sparing = try DutyCycle(window: .milliseconds(30), of: .milliseconds(300))
///     #expect(sparing.part == 0.1)
///
/// Source: Bluetooth Core Vol 4 Part E §7.8.10, LE_Scan_Interval and LE_Scan_Window: 2.5 ms … 10.24 s in steps of 0.625
/// ms, the window at most the interval.
public struct DutyCycle: Sendable, Hashable {
    /// The length of a window in steps of 0.625 ms: 4 … ``interval``.
    public let window: UInt16
    /// The time from the start of one window to the next in steps of 0.625 ms: 4 … 16,384.
    public let interval: UInt16

    /// The range of a window and an interval, in steps of 0.625 ms.
    public static let range: ClosedRange<UInt16> = 4...0x4000
    // The length of a step in microseconds.
    private static let step: Int64 = 625

    /// All of the time: 60 ms of each 60 ms, which is the interval of the kernel.
    public static let continuous = DutyCycle(steps: 0x60, of: 0x60)
    /// A tenth of the time: 60 ms of each 600 ms, the same part as Android's `SCAN_MODE_LOW_POWER` with shorter gaps.
    public static let low = DutyCycle(steps: 0x60, of: 0x3C0)

    private init(steps window: UInt16, of interval: UInt16) {
        self.window = window
        self.interval = interval
    }

    /// Creates a duty cycle from a window and an interval, each rounded to steps of 0.625 ms.
    ///
    /// - Throws: ``MonitorError/settingInvalid(_:_:)`` if one is outside 2.5 ms … 10.24 s, or the window is longer.
    public init(window: Duration, of interval: Duration) throws(MonitorError) {
        let (window, interval) = (Self.steps(window), Self.steps(interval))
        guard let window, let interval, window <= interval else {
            throw .settingInvalid(
                "a duty cycle", "expected a window of 2.5 ms…10.24 s within an interval of at most that")
        }
        self.init(steps: window, of: interval)
    }

    /// Creates a duty cycle from a part of the time, with windows of 60 ms.
    ///
    /// - Throws: ``MonitorError/settingInvalid(_:_:)`` if the part is outside 0.01 … 1.
    public init(part: Double) throws(MonitorError) {
        guard Self.partRange.contains(part) else {
            throw .settingInvalid("a duty cycle of \(part)", "expected 0.01…1")
        }
        self.init(steps: 0x60, of: UInt16((96 / part).rounded()))
    }

    /// The range of the part: 0.01 is a window of 60 ms every 6 s.
    public static let partRange: ClosedRange<Double> = 0.01...1

    private static func steps(_ duration: Duration) -> UInt16? {
        let microseconds = duration.nanoseconds / 1000
        guard (0...20_000_000).contains(microseconds) else { return nil }
        let steps = UInt16(clamping: (microseconds + step / 2) / step)
        return range.contains(steps) ? steps : nil
    }

    /// The part of the time in which the adapter scans, above 0 and at most 1.
    public var part: Double { Double(window) / Double(interval) }

    /// Whether the adapter scans without gaps.
    public var isContinuous: Bool { window == interval }

    /// Returns the duty cycle with the larger part; if both parts are equal, the one with the shorter gaps.
    public func joined(with other: DutyCycle) -> DutyCycle {
        let (mine, others) = (Int(window) * Int(other.interval), Int(other.window) * Int(interval))
        if mine != others { return mine > others ? self : other }
        return interval <= other.interval ? self : other
    }
}
