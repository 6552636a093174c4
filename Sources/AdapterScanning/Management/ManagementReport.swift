import BluetoothLE

/// An advertising report of the management socket: Device Found (0x0012) while a discovery is running, otherwise Adv
/// Monitor Device Found (0x002F). The latter has an additional handle, which has no meaning without offload.
///
/// The kernel reports neither the advertising SID and PHY nor whether it was a legacy advertisement. During an active
/// scan it delivers an advertisement and its scan response as one report, with the AD structures of both. The fragments
/// of a long extended advertisement are delivered as separate reports.
///
/// Source: Linux include/net/bluetooth/mgmt.h, struct mgmt_ev_device_found and mgmt_ev_adv_monitor_device_found.
struct ManagementReport: Sendable, Hashable {
    /// The kernel's number of the adapter.
    var index: UInt16
    /// Whether the report was received through a monitor, and so by the unfiltered passive scan.
    var isMonitors: Bool
    /// The report. Its `data` are a range of the message.
    var report: AdvertisingReport

    /// Returns whether a message of the management socket is a report, by its first two bytes.
    static func isReport(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= 2 && bytes[1] == 0 && (bytes[0] == 0x12 || bytes[0] == 0x2F)
    }

    /// Parses a report. Returns `nil` if it is the result of a BR/EDR inquiry, which is not an advertising report.
    ///
    /// - Throws: ``ManagementMessageError`` if the message is shorter than announced.
    init?(_ bytes: Span<UInt8>) throws(ManagementMessageError) {
        let isMonitors = bytes.count > 0 && bytes[0] == 0x2F
        // Header (6), handle (2), address (6), its type (1), RSSI (1), flags (4), length of the data (2).
        let start = isMonitors ? 8 : 6
        guard let index = bytes.number16(at: 2), let announced = bytes.number16(at: 4),
            let address = bytes.address48(at: start), let type = bytes.byte(at: start + 6),
            let rssi = bytes.byte(at: start + 7), let flags = bytes.number32(at: start + 8),
            let length = bytes.number16(at: start + 12)
        else { throw ManagementMessageError(code: bytes.number16(at: 0), available: bytes.count) }
        let end = start + 14 + Int(length)
        guard end <= 6 + Int(announced), end <= bytes.count else {
            throw ManagementMessageError(code: bytes.number16(at: 0), available: bytes.count)
        }
        // 0: BR/EDR, 1: LE public, 2: LE random.
        guard type != 0 else { return nil }
        let kind: DeviceAddress.Kind = type == 1 ? .public : type == 2 ? .random : .unspecified
        self.index = index
        self.isMonitors = isMonitors
        report = AdvertisingReport(
            address: DeviceAddress(address, kind: kind), rssi: RSSI(reported: rssi),
            properties: Self.properties(flags: flags), data: start + 14..<end)
    }

    // MGMT_DEV_FOUND_NOT_CONNECTABLE and, in newer kernels, MGMT_DEV_FOUND_SCAN_RSP. All other flags concern BR/EDR.
    private static func properties(flags: UInt32) -> AdvertisingReport.Properties {
        if flags & 1 << 5 != 0 { return [.scannable, .scanResponse] }
        return flags & 1 << 2 != 0 ? [] : [.connectable]
    }
}
