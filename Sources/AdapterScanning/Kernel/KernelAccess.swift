import SystemPackage

/// What scanners open of the kernel's Bluetooth: the machine's own, or a test's.
struct KernelAccess {
    /// Opens a management socket, with a receive buffer of so many octets.
    var openControl: (_ receiveBufferBytes: Int) throws(Errno) -> BluetoothSocket = { bytes throws(Errno) in
        try BluetoothSocket(.control, receiveBufferBytes: bytes)
    }
    /// Where rfkill speaks.
    var rfkill: FilePath = "/dev/rfkill"
    /// Whether this process may use the raw channel.
    var mayUseRawChannel: () -> Bool = { Capabilities.has(.rawNetwork) }
}
