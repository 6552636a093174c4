/// The part of the time in which a scan receives: a window at the start of each interval.
///
/// Source: Bluetooth Core Vol 4 Part E §7.8.10, LE_Scan_Interval and LE_Scan_Window: 4 … 0x4000 in steps of 0.625 ms.
package struct ScanTiming: Sendable, Hashable {
    /// The time from the start of one window to the next, in steps of 0.625 ms.
    package let interval: UInt16
    /// The length of a window in steps of 0.625 ms; at most ``interval``.
    package let window: UInt16

    /// Continuous scanning: 60 ms of each 60 ms.
    package static let continuous = ScanTiming(interval: 0x60, window: 0x60)

    /// Creates a timing. Both values are clamped to the range that controllers accept.
    package init(interval: UInt16, window: UInt16) {
        self.interval = min(max(interval, 4), 0x4000)
        self.window = min(max(window, 4), self.interval)
    }

    /// Whether there is no gap between windows.
    package var isContinuous: Bool { window == interval }
}
