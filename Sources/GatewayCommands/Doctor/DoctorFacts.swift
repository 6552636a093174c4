import BeaconMonitoring
import BluetoothLE
import SystemPackage

/// What an examination rests on, as it was found; what can't be known is absent.
enum DoctorFacts {
    /// What the kernel has of Bluetooth.
    struct Bluetooth: Sendable, Hashable {
        /// What socket(2) says to AF_BLUETOOTH; absent where it gives one.
        var socketFailure: Errno?
        /// The adapters, by name.
        var adapters: [Adapter] = []
        /// What rfkill has of Bluetooth.
        var switches: [Switch] = []
    }

    /// One adapter.
    struct Adapter: Sendable, Hashable {
        /// As the kernel names it: `hci0`.
        var name: String
        /// Its controller's address (rule L7).
        var address: DeviceAddress?
        /// Whether it is switched on.
        var isPowered: Bool?
        /// Whether USB may suspend it, and where that stands in sysfs.
        var autosuspend: String?
    }

    /// One of rfkill's switches of the type Bluetooth.
    struct Switch: Sendable, Hashable {
        /// Its name: `hci0`, or the maker's.
        var name: String
        /// Whether software blocks it, as `rfkill block` does.
        var isSoftBlocked: Bool
        /// Whether a switch or a key on the machine blocks it, which no software undoes.
        var isHardBlocked: Bool
    }

    /// The system bus, and bluetoothd on it.
    struct Bus: Sendable, Hashable {
        /// Where the bus should be.
        var socket: String
        /// What connect(2) says to it; absent where it is accepted.
        var failure: Errno?
        /// Whether bluetoothd runs.
        var isDaemonRunning: Bool
        /// Whether its unit is installed.
        var isDaemonInstalled: Bool
        /// What the bus says where it refuses to let this user talk to bluetoothd; absent where it does not, or was not
        /// asked.
        var refusal: String?
    }

    /// What this process may.
    struct Rights: Sendable, Hashable {
        /// Who it is, for people.
        var user: String
        /// CAP_NET_ADMIN: the management socket, receive buffers of any size.
        var hasNetworkAdministration: Bool
        /// CAP_NET_RAW: the raw channel.
        var hasRawNetwork: Bool
    }

    /// A folder that is written to.
    struct Directory: Sendable, Hashable {
        /// What stands in the way of writing there; absent where nothing does.
        var failure: Errno?
        /// Whether it is there already; where it is not, what is said is of the folder that it would be made in.
        var exists: Bool
        /// How many octets are free for this user.
        var free: Int64?
        /// Whether it is on f2fs that keeps small files in their inodes: mounted without `noinline_data`.
        var isInlineF2FS = false
    }

    /// The daemon of this configuration.
    struct Daemon: Sendable, Hashable {
        /// Whether it answers at its status socket.
        var isRunning: Bool
        /// What stands in the status socket's place and is no socket; absent where nothing does.
        var occupant: String?
        /// Whether this user may not ask it.
        var isForbidden = false
        /// Whether its unit is installed.
        var isInstalled = true
        /// The flags that it holds at present; absent where it was not asked.
        var diagnostics: Diagnostics?
        /// Why its broker does not take what it publishes; absent where it does, or it was not asked.
        var brokerTrouble: String?
        /// The conditions whose UUID has its bytes in reverse order; empty if it was not asked.
        var reversedUUIDs: [ReversedUUID] = []
    }
}

/// Finds out what an examination rests on. The machine's own is ``SystemDoctorProbes``; a test has others.
protocol DoctorProbes {
    /// What the kernel has of Bluetooth.
    func bluetooth() -> DoctorFacts.Bluetooth
    /// The system bus, and bluetoothd on it.
    func bus() -> DoctorFacts.Bus
    /// What this process may.
    func rights() -> DoctorFacts.Rights
    /// Whether the kernel says that the wall clock has been set; `nil` where it does not tell.
    func isClockSynchronized() -> Bool?
    /// A folder that would be written to.
    func directory(_ path: String) -> DoctorFacts.Directory
    /// What stands in the way of reading a file; `nil` where nothing does.
    func readFailure(_ path: String) -> Errno?
    /// The path of the sample configuration; `nil` if none is on this machine.
    func sampleConfiguration() -> String?
    /// What is wrong with the rights of a file that holds a secret, with what to do; `nil` where nothing is.
    func secretExposure(_ path: String) -> String?
    /// What stands in the way of a TCP connection, for operators; `nil` where nothing does. Waits five seconds at most.
    func connectFailure(host: String, port: UInt16) -> String?
    /// The daemon that listens at a status socket.
    func daemon(statusSocket: String) -> DoctorFacts.Daemon
}
