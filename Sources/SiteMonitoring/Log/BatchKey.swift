/// Identifies a batch, however often it is sent and by any process. Messages with the same key are the same batch.
package struct BatchKey: Sendable, Hashable, CustomStringConvertible {
    /// The gateway that received the data.
    package let gateway: LogName
    /// The boot of the gateway's machine (proc_sys_kernel(5), `random/boot_id`), as one number.
    package let boot: UInt128
    /// The sequence number within that boot: one more than that of the previous batch. Only the first batch of a
    /// process can skip numbers.
    package let sequence: UInt64

    /// Creates the key of a gateway's batch.
    package init(gateway: LogName, boot: UInt128, sequence: UInt64) {
        self.gateway = gateway
        self.boot = boot
        self.sequence = sequence
    }

    /// `gateway/boot/sequence`, with the boot as 32 hexadecimal digits.
    package var description: String {
        let digits = String(boot, radix: 16)
        return "\(gateway)/\(String(repeating: "0", count: 32 - digits.count))\(digits)/\(sequence)"
    }
}
