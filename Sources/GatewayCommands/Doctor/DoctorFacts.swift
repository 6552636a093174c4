package import BeaconMonitoring
package import BluetoothLE
package import SystemPackage

/// What an examination rests on, as it was found; what can't be known is absent.
package enum DoctorFacts {
    /// What the kernel has of Bluetooth.
    package struct Bluetooth: Sendable, Hashable {
        /// What socket(2) says to AF_BLUETOOTH; absent where it gives one.
        package var socketFailure: Errno?
        /// The adapters, by name.
        package var adapters: [Adapter] = []
        /// What rfkill has of Bluetooth.
        package var switches: [Switch] = []

        /// Bluetooth without an adapter.
        package init() {}
    }

    /// One adapter.
    package struct Adapter: Sendable, Hashable {
        /// As the kernel names it: `hci0`.
        package var name: String
        /// Its controller's address (rule L7).
        package var address: DeviceAddress?
        /// Whether it is switched on.
        package var isPowered: Bool?
        /// Whether USB may suspend it, and where that stands in sysfs.
        package var autosuspend: String?

        /// An adapter as the kernel and sysfs tell of it; what they do not tell is absent.
        package init(
            name: String, address: DeviceAddress? = nil, isPowered: Bool? = nil, autosuspend: String? = nil
        ) {
            self.name = name
            self.address = address
            self.isPowered = isPowered
            self.autosuspend = autosuspend
        }
    }

    /// One of rfkill's switches of the type Bluetooth.
    package struct Switch: Sendable, Hashable {
        /// Its name: `hci0`, or the maker's.
        package var name: String
        /// Whether software blocks it, as `rfkill block` does.
        package var isSoftBlocked: Bool
        /// Whether a switch or a key on the machine blocks it, which no software undoes.
        package var isHardBlocked: Bool

        /// A switch as rfkill tells of it.
        package init(name: String, isSoftBlocked: Bool, isHardBlocked: Bool) {
            self.name = name
            self.isSoftBlocked = isSoftBlocked
            self.isHardBlocked = isHardBlocked
        }
    }

    /// The system bus, and bluetoothd on it.
    package struct Bus: Sendable, Hashable {
        /// Where the bus should be.
        package var socket: String
        /// What connect(2) says to it; absent where it is accepted.
        package var failure: Errno?
        /// Whether bluetoothd runs.
        package var isDaemonRunning: Bool
        /// Whether its unit is installed.
        package var isDaemonInstalled: Bool
        /// What the bus says where it refuses to let this user talk to bluetoothd; absent where it does not, or was not
        /// asked.
        package var refusal: String?

        /// A bus as it was found.
        package init(
            socket: String, failure: Errno? = nil, isDaemonRunning: Bool, isDaemonInstalled: Bool,
            refusal: String? = nil
        ) {
            self.socket = socket
            self.failure = failure
            self.isDaemonRunning = isDaemonRunning
            self.isDaemonInstalled = isDaemonInstalled
            self.refusal = refusal
        }
    }

    /// What this process may.
    package struct Rights: Sendable, Hashable {
        /// Who it is, for people.
        package var user: String
        /// CAP_NET_ADMIN: the management socket, receive buffers of any size.
        package var hasNetworkAdministration: Bool
        /// CAP_NET_RAW: the raw channel.
        package var hasRawNetwork: Bool

        /// The rights of a user.
        package init(user: String, hasNetworkAdministration: Bool, hasRawNetwork: Bool) {
            self.user = user
            self.hasNetworkAdministration = hasNetworkAdministration
            self.hasRawNetwork = hasRawNetwork
        }
    }

    /// A folder that is written to.
    package struct Directory: Sendable, Hashable {
        /// What stands in the way of writing there; absent where nothing does.
        package var failure: Errno?
        /// Whether it is there already; where it is not, what is said is of the folder that it would be made in.
        package var exists: Bool
        /// How many octets are free for this user.
        package var free: Int64?
        /// Whether it is on f2fs that keeps small files in their inodes: mounted without `noinline_data`.
        package var isInlineF2FS: Bool

        /// A folder as it was found; an ordinary file system unless said otherwise.
        package init(failure: Errno? = nil, exists: Bool, free: Int64?, isInlineF2FS: Bool = false) {
            self.isInlineF2FS = isInlineF2FS
            self.failure = failure
            self.exists = exists
            self.free = free
        }
    }

    /// The daemon of this configuration.
    package struct Daemon: Sendable, Hashable {
        /// Whether it answers at its status socket.
        package var isRunning: Bool
        /// What stands in the status socket's place and is no socket; absent where nothing does.
        package var occupant: String?
        /// Whether this user may not ask it.
        package var isForbidden = false
        /// Whether its unit is installed.
        package var isInstalled = true
        /// The flags that it holds at present; absent where it was not asked.
        package var diagnostics: Diagnostics?
        /// Why its broker does not take what it publishes; absent where it does, or it was not asked.
        package var brokerTrouble: String?
        /// The conditions whose UUID has its bytes in reverse order; empty if it was not asked.
        package var reversedUUIDs: [ReversedUUID] = []

        /// A daemon as it was found; where it was not asked, nothing is known of its flags and its broker.
        package init(
            isRunning: Bool, occupant: String? = nil, diagnostics: Diagnostics? = nil, brokerTrouble: String? = nil
        ) {
            self.isRunning = isRunning
            self.occupant = occupant
            self.diagnostics = diagnostics
            self.brokerTrouble = brokerTrouble
        }
    }
}

/// Finds out what an examination rests on. The machine's own is ``SystemDoctorProbes``; a test has others.
package protocol DoctorProbes {
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
