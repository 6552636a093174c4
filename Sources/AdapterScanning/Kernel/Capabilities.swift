import CBluetooth
import Glibc
package import SystemPackage

/// What this process may that others may not (capabilities(7)), and how it gives that up.
package enum Capabilities {
    /// The capabilities that hearing takes.
    package enum Capability: Int, Sendable, Hashable, CaseIterable {
        /// CAP_NET_ADMIN: the management socket, when it is bound; large buffers, when a socket is opened.
        case networkAdministration = 12
        /// CAP_NET_RAW: the raw HCI channel.
        case rawNetwork = 13
    }

    // CAP_LAST_CAP of the running kernel is at most this; past it the kernel says EINVAL.
    private static let numberMax = 63

    /// Whether the calling thread has it in effect.
    package static func has(_ capability: Capability) -> Bool {
        var sets: [UInt64] = [0, 0, 0]
        let result = unsafe sets.withUnsafeMutableBufferPointer { unsafe gateway_capabilities($0.baseAddress) }
        return result == 0 && sets[0] & 1 << UInt64(capability.rawValue) != 0
    }

    /// Gives up all capabilities but those to keep, for good, and any way to new ones (PR_SET_NO_NEW_PRIVS).
    ///
    /// To be called when the scanner has been started: a management socket works on, as the kernel looked when it was bound.
    /// For the calling thread and those that it starts afterwards: call it before there are others. What it starts later
    /// (execve) gets nothing either. It is no harm where there is nothing to give up.
    /// - Parameter kept: what is still needed: ``Capability/rawNetwork`` for an ``HCIScanner``;
    ///   ``Capability/networkAdministration`` beside it where adapters that come later are to have large buffers too.
    /// - Throws: `Errno` of capset(2) or prctl(2): a mistake of ours, or a sandbox that forbids them.
    package static func drop(keeping kept: Set<Capability> = []) throws(Errno) {
        var sets: [UInt64] = [0, 0, 0]
        let result = unsafe sets.withUnsafeMutableBufferPointer { unsafe gateway_capabilities($0.baseAddress) }
        guard result == 0 else { throw Errno(rawValue: errno) }
        let wanted = kept.reduce(UInt64(0)) { $0 | 1 << UInt64($1.rawValue) }
        try check(gateway_no_new_privileges())
        // EINVAL: a kernel before 4.3 has no ambient set, and nothing to clear.
        if gateway_ambient_clear() < 0, errno != EINVAL { throw Errno(rawValue: errno) }
        for number in 0...numberMax where wanted & 1 << UInt64(number) == 0 {
            // 0: not in it; below 0: the kernel knows no more of them.
            let isBounded = gateway_bounding_has(Int32(number))
            if isBounded < 0 { break }
            // It takes CAP_SETPCAP, which few have. Without it, no new privileges keeps the same door shut.
            if isBounded > 0, gateway_bounding_drop(Int32(number)) < 0, errno != EPERM {
                throw Errno(rawValue: errno)
            }
        }
        try check(gateway_set_capabilities(sets[1] & wanted))
    }

    private static func check(_ result: Int32) throws(Errno) {
        guard result >= 0 else { throw Errno(rawValue: errno) }
    }
}
