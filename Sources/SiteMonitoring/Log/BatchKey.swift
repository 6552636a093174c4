/// Which batch it is, whoever sends it and however often: what the same key has, is the same batch.
package struct BatchKey: Sendable, Hashable, CustomStringConvertible {
    /// Who heard what stands in it.
    package let gateway: LogName
    /// Which start of the gateway's machine (proc_sys_kernel(5), `random/boot_id`), as one number.
    package let boot: UInt128
    /// Its number among the batches of that start: one more than the one before, but for the first of a process, which may
    /// leave numbers out.
    package let sequence: UInt64

    /// A gateway's batch.
    package init(gateway: LogName, boot: UInt128, sequence: UInt64) {
        self.gateway = gateway
        self.boot = boot
        self.sequence = sequence
    }

    /// `gateway/boot/sequence`, the boot in 32 hexadecimal digits.
    package var description: String {
        let digits = String(boot, radix: 16)
        return "\(gateway)/\(String(repeating: "0", count: 32 - digits.count))\(digits)/\(sequence)"
    }
}
