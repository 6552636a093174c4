import BeaconMonitoring
import BluetoothLE
import SystemPackage

/// The facts that `doctor` evaluates. A fact that cannot be known is `nil`.
enum DoctorFacts {
    /// Bluetooth in the kernel.
    struct Bluetooth: Sendable, Hashable {
        /// The error of socket(2) for AF_BLUETOOTH; `nil` if it returns a socket.
        var socketFailure: Errno?
        /// The adapters, in the order of their numbers.
        var adapters: [Adapter] = []
        /// The switches of rfkill for Bluetooth.
        var switches: [Switch] = []
    }

    /// One adapter.
    struct Adapter: Sendable, Hashable {
        /// The name in the kernel: `hci0`.
        var name: String
        /// The address of its controller (rule L7).
        var address: DeviceAddress?
        /// Whether it is switched on.
        var isPowered: Bool?
        /// The path of the setting in sysfs by which USB can suspend it; `nil` if USB cannot.
        var autosuspend: String?
    }

    /// A switch of rfkill with the type Bluetooth.
    struct Switch: Sendable, Hashable {
        /// Its name: `hci0`, or the name that the manufacturer gave it.
        var name: String
        /// Whether software blocks it, as `rfkill block` does.
        var isSoftBlocked: Bool
        /// Whether a switch or a key of the machine blocks it. Software cannot change this.
        var isHardBlocked: Bool
    }

    /// The system bus, and bluetoothd on it.
    struct Bus: Sendable, Hashable {
        /// The expected address of the bus: a path, or `@` and a name in the abstract namespace.
        var socket: String
        /// The error of connect(2); `nil` if the bus accepts the connection.
        var failure: Errno?
        /// Whether bluetoothd runs.
        var isDaemonRunning: Bool
        /// Whether the unit of bluetoothd is installed.
        var isDaemonInstalled: Bool
        /// The message of the bus if it does not allow this user to call bluetoothd; `nil` if it allows this, or was
        /// not asked.
        var refusal: String?
    }

    /// The rights of this process.
    struct Rights: Sendable, Hashable {
        /// The name of its user, for people.
        var user: String
        /// Whether it has CAP_NET_ADMIN, for the management socket and receive buffers of any size.
        var hasNetworkAdministration: Bool
        /// Whether it has CAP_NET_RAW, for the raw HCI channel.
        var hasRawNetwork: Bool
    }

    /// A folder to which a gateway writes.
    struct Directory: Sendable, Hashable {
        /// The error that prevents writing to it; `nil` if there is none.
        var failure: Errno?
        /// Whether it exists. If not, the other facts are about the folder in which it would be created.
        var exists: Bool
        /// The number of bytes that are free for this user.
        var free: Int64?
        /// Whether it is on f2fs that stores small files in their inodes: one that is mounted without `noinline_data`.
        var isInlineF2FS = false
    }

    /// The gateway that runs with this configuration.
    struct Daemon: Sendable, Hashable {
        /// Whether it answers at its status socket.
        var isRunning: Bool
        /// The kind of file at the path of the status socket, if it is not a socket; `nil` otherwise.
        var occupant: String?
        /// Whether this user has no permission to ask it.
        var isForbidden = false
        /// Whether its unit is installed.
        var isInstalled = true
        /// The flags that it reports now; `nil` if it was not asked or did not report them.
        var diagnostics: Diagnostics?
        /// Why its broker does not accept the published lines; `nil` if it does, or if the gateway was not asked.
        var brokerFailure: String?
        /// The conditions whose UUID has its bytes in reverse order; empty if it was not asked.
        var reversedUUIDs: [ReversedUUID] = []
    }
}

/// Collects the facts for `doctor`. ``SystemDoctorProbes`` examines the machine; tests have other implementations.
protocol DoctorProbes {
    /// Returns the state of Bluetooth in the kernel.
    func bluetooth() -> DoctorFacts.Bluetooth
    /// Returns the state of the system bus, and of bluetoothd on it.
    func bus() -> DoctorFacts.Bus
    /// Returns the rights of this process.
    func rights() -> DoctorFacts.Rights
    /// Returns whether the kernel reports that the wall clock was set; `nil` if it does not report this.
    func isClockSynchronized() -> Bool?
    /// Returns the state of a folder to which a gateway would write.
    func directory(_ path: String) -> DoctorFacts.Directory
    /// Returns the error that prevents reading a file; `nil` if there is none.
    func readFailure(_ path: String) -> Errno?
    /// Returns the path of the sample configuration; `nil` if this machine has none.
    func sampleConfiguration() -> String?
    /// Returns the problem with the permissions of a file that contains a secret, with a remedy; `nil` if there is
    /// none.
    func secretExposure(_ path: String) -> String?
    /// Returns the error of a TCP connection, for operators; `nil` if the connection succeeds. Waits at most 5 s.
    func connectFailure(host: String, port: UInt16) -> String?
    /// Returns the state of the gateway that answers at a status socket.
    func daemon(statusSocket: String) -> DoctorFacts.Daemon
}
