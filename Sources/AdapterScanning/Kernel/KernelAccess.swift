import EventLoops
import SystemPackage

/// What scanners open of the kernel's Bluetooth: the machine's own, or a test's.
struct KernelAccess {
    /// Opens a management socket, with a receive buffer of so many octets.
    var openControl: (_ receiveBufferBytes: Int) throws(Errno) -> BluetoothSocket = { bytes throws(Errno) in
        try BluetoothSocket(.control, receiveBufferBytes: bytes)
    }
    /// Opens the raw channel of an adapter, with a receive buffer of that many bytes.
    var openLine: (_ adapter: Int, _ receiveBufferBytes: Int) throws(Errno) -> BluetoothSocket = {
        adapter, bytes throws(Errno) in try HCILine.open(adapter, receiveBufferBytes: bytes)
    }
    /// The wall clock of the receive times, in nanoseconds.
    var wall: () -> Int64 = { BootClock.wall }
    /// How precisely losses are placed.
    var lossTiming = ReceiveQueue.Timing()
    /// Where rfkill speaks.
    var rfkill: FilePath = "/dev/rfkill"
    /// Whether this process may use the raw channel.
    var mayUseRawChannel: () -> Bool = { Capabilities.has(.rawNetwork) }
}
