import EventLoops
import SystemPackage

/// The parts of the kernel's Bluetooth that scanners open. Tests replace them.
struct KernelAccess {
    /// Opens a management socket with a receive buffer of this many bytes.
    var openControl: (_ receiveBufferBytes: Int) throws(Errno) -> BluetoothSocket = { bytes throws(Errno) in
        try BluetoothSocket(.control, receiveBufferBytes: bytes)
    }
    /// Opens the raw channel of an adapter with a receive buffer of this many bytes.
    var openLine: (_ adapter: Int, _ receiveBufferBytes: Int) throws(Errno) -> BluetoothSocket = {
        adapter, bytes throws(Errno) in try HCILine.open(adapter, receiveBufferBytes: bytes)
    }
    /// Reads the wall clock that receive times refer to, in nanoseconds.
    var wall: () -> Int64 = { BootClock.wall }
    /// How precisely losses are placed among messages.
    var lossTiming = ReceiveQueue.Timing()
    /// The rfkill device.
    var rfkill: FilePath = "/dev/rfkill"
    /// Returns whether this process can use the raw channel.
    var mayUseRawChannel: () -> Bool = { Capabilities.has(.rawNetwork) }
}
