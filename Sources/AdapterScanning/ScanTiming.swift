/// How much of the time a scan listens: a window at the beginning of each interval.
///
/// Source: Bluetooth Core Vol 4 Part E §7.8.10, LE_Scan_Interval and LE_Scan_Window: 4 … 0x4000 in steps of 0.625 ms.
package struct ScanTiming: Sendable, Hashable {
    /// From the beginning of one window to the next, in steps of 0.625 ms.
    package let interval: UInt16
    /// How long is listened, in steps of 0.625 ms; at most ``interval``.
    package let window: UInt16

    /// All of the air: 60 ms of each 60 ms.
    package static let continuous = ScanTiming(interval: 0x60, window: 0x60)

    /// A window and an interval, moved to what a controller takes.
    package init(interval: UInt16, window: UInt16) {
        self.interval = min(max(interval, 4), 0x4000)
        self.window = min(max(window, 4), self.interval)
    }

    /// Whether nothing is missed between windows.
    package var isContinuous: Bool { window == interval }
}
