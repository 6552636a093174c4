import CBluetooth
import Glibc
package import SystemPackage

/// The capabilities of this process (capabilities(7)), and a way to drop them.
package enum Capabilities {
    /// The capabilities that scanning needs.
    package enum Capability: Int, Sendable, Hashable, CaseIterable {
        /// CAP_NET_ADMIN: needed when the management socket is bound, and for large buffers when a socket is opened.
        case networkAdministration = 12
        /// CAP_NET_RAW: needed for the raw HCI channel.
        case rawNetwork = 13
    }

    // CAP_LAST_CAP of the running kernel is at most this. For numbers above CAP_LAST_CAP the kernel returns EINVAL.
    private static let numberMax = 63

    /// Returns whether the capability is in the effective set of the calling thread.
    package static func has(_ capability: Capability) -> Bool {
        var sets: [UInt64] = [0, 0, 0]
        let result = unsafe sets.withUnsafeMutableBufferPointer { unsafe gateway_capabilities($0.baseAddress) }
        return result == 0 && sets[0] & 1 << UInt64(capability.rawValue) != 0
    }

    /// Drops all capabilities except `kept` permanently, and prevents the process from getting new ones
    /// (PR_SET_NO_NEW_PRIVS).
    ///
    /// Call it after the scanner was started: a management socket keeps its rights, because the kernel checks them when
    /// it is bound. It applies to the calling thread and to threads that this thread starts later, so call it before
    /// there are other threads. Programs that are started later (execve) get no capabilities either. It does no harm if
    /// there is nothing to drop.
    /// - Parameter kept: the capabilities that are still needed: ``Capability/rawNetwork`` for an ``HCIScanner``; also
    ///   ``Capability/networkAdministration`` if adapters that appear later should get large buffers too.
    /// - Throws: `Errno` of capset(2) or prctl(2): a bug of this program, or a sandbox that forbids them.
    package static func drop(keeping kept: Set<Capability> = []) throws(Errno) {
        var sets: [UInt64] = [0, 0, 0]
        let result = unsafe sets.withUnsafeMutableBufferPointer { unsafe gateway_capabilities($0.baseAddress) }
        guard result == 0 else { throw Errno(rawValue: errno) }
        let wanted = kept.reduce(UInt64(0)) { $0 | 1 << UInt64($1.rawValue) }
        try check(gateway_no_new_privileges())
        // EINVAL: a kernel before 4.3 has no ambient set, so there is nothing to clear.
        if gateway_ambient_clear() < 0, errno != EINVAL { throw Errno(rawValue: errno) }
        for number in 0...numberMax where wanted & 1 << UInt64(number) == 0 {
            // 0: the capability is not in the bounding set. Below 0: the kernel has no capability with this number.
            let isBounded = gateway_bounding_has(Int32(number))
            if isBounded < 0 { break }
            // This needs CAP_SETPCAP, which few processes have. Without it, PR_SET_NO_NEW_PRIVS has the same effect.
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
