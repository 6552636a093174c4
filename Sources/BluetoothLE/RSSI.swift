/// A received signal strength in dBm.
///
/// Source: Bluetooth Core Vol 4 Part E §7.7.65.2: −127 … +20 dBm. The value 127 means "not available" and is
/// represented by `nil` here.
public struct RSSI: Sendable, Hashable, Comparable {
    /// The strength in dBm, as the controller reported it.
    public let dBm: Int8

    /// Creates a strength. All values are accepted, because some controllers report values outside the specified range.
    @inlinable public init(dBm: Int8) { self.dBm = dBm }

    /// Creates a strength from the RSSI byte of an HCI advertising report; `nil` for 127 ("not available").
    @inlinable public init?(reported byte: UInt8) {
        guard byte != 0x7F else { return nil }
        dBm = Int8(bitPattern: byte)
    }

    /// Returns the RSSI byte of an HCI advertising report for `rssi`: 127 for `nil`.
    @inlinable public static func byte(_ rssi: RSSI?) -> UInt8 { rssi.map { UInt8(bitPattern: $0.dBm) } ?? 0x7F }

    /// The range that settings accept (Bluetooth Core Vol 4 Part E §7.7.65.2).
    public static let settingRange: ClosedRange<Int> = -127...20

    /// Returns whether `left` is weaker than `right`.
    @inlinable public static func < (left: RSSI, right: RSSI) -> Bool { left.dBm < right.dBm }
}
