/// The kernel's status of a management command.
///
/// Source: Linux include/net/bluetooth/mgmt.h, MGMT_STATUS_*; BlueZ doc/mgmt-api.txt.
struct ManagementStatus: RawRepresentable, Sendable, Hashable {
    let rawValue: UInt8

    static let success = ManagementStatus(rawValue: 0x00)
    /// This kernel does not know the command.
    static let unknownCommand = ManagementStatus(rawValue: 0x01)
    static let failed = ManagementStatus(rawValue: 0x03)
    static let noResources = ManagementStatus(rawValue: 0x07)
    static let timeout = ManagementStatus(rawValue: 0x08)
    /// A command of the same kind, of this program or of another one, is still pending.
    static let busy = ManagementStatus(rawValue: 0x0A)
    static let rejected = ManagementStatus(rawValue: 0x0B)
    static let notSupported = ManagementStatus(rawValue: 0x0C)
    /// Also returned when a monitor is removed that does not exist any more.
    static let invalidParameters = ManagementStatus(rawValue: 0x0D)
    static let notPowered = ManagementStatus(rawValue: 0x0F)
    static let cancelled = ManagementStatus(rawValue: 0x10)
    /// There is no such adapter, or not any more.
    static let invalidIndex = ManagementStatus(rawValue: 0x11)
    static let blocked = ManagementStatus(rawValue: 0x12)
    /// The socket was bound without CAP_NET_ADMIN.
    static let permissionDenied = ManagementStatus(rawValue: 0x14)
}

extension ManagementStatus: CustomStringConvertible {
    /// The kernel's name of the status, with the number.
    var description: String {
        let words: [String] = [
            "success", "unknown command", "not connected", "failed", "connect failed", "authentication failed",
            "not paired", "no resources", "timeout", "already connected", "busy", "rejected", "not supported",
            "invalid parameters", "disconnected", "not powered", "cancelled", "invalid index", "blocked by rfkill",
            "already paired", "permission denied",
        ]
        let number = "status 0x" + (rawValue < 16 ? "0" : "") + String(rawValue, radix: 16)
        return Int(rawValue) < words.count ? "\(words[Int(rawValue)]) (\(number))" : number
    }
}
