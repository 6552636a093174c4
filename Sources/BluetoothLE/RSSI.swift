/// A received signal strength in dBm.
///
/// Source: Bluetooth Core Vol 4 Part E §7.7.65.2: −127 … +20 dBm; 127 means that it is not available,
/// which here is an absent value.
public struct RSSI: Sendable, Hashable, Comparable {
    /// dBm, as the controller reported it.
    public let dBm: Int8

    /// A strength of `dBm`, which may be any value: controllers report some outside of the specified range.
    @inlinable public init(dBm: Int8) { self.dBm = dBm }

    /// The RSSI octet of an HCI advertising report; `nil` where it says 127, "not available".
    @inlinable public init?(reported octet: UInt8) {
        guard octet != 0x7F else { return nil }
        dBm = Int8(bitPattern: octet)
    }

    /// The octet that an HCI advertising report carries for `rssi`.
    @inlinable public static func octet(_ rssi: RSSI?) -> UInt8 { rssi.map { UInt8(bitPattern: $0.dBm) } ?? 0x7F }

    /// What a setting may ask for (Bluetooth Core Vol 4 Part E §7.7.65.2).
    public static let settingRange: ClosedRange<Int> = -127...20

    /// The weaker is the less.
    @inlinable public static func < (left: RSSI, right: RSSI) -> Bool { left.dBm < right.dBm }
}
