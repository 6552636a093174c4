import AdapterScanning
import BeaconMonitoring
import BluetoothLE
import CLinux
import CommandSupport
import EventLog
import EventLoops
import Glibc
import PublisherProtocol
import SystemPackage

/// Examines the machine with sockets, sysfs, procfs and system calls. It needs no capability and changes nothing.
struct SystemDoctorProbes: DoctorProbes {
    /// Asks the system bus whether this user may call bluetoothd. It returns the message of the bus if it refuses, and
    /// `nil` otherwise. If this closure is `nil`, only the socket of the bus is checked.
    var busRefusal: (() -> String?)?
    /// Asks the gateway at a status socket for its flags. If this closure is `nil`, it is only known whether it
    /// answers.
    var daemonDiagnostics: ((String) -> Diagnostics?)?
    /// Asks the gateway at a status socket why its broker does not accept lines. If this closure is `nil`, that is
    /// unknown.
    var daemonBrokerFailure: ((String) -> String?)?
    /// Asks the gateway at a status socket for the conditions whose UUID is reversed. If this closure is `nil`, none is
    /// known.
    var daemonReversedUUIDs: ((String) -> [ReversedUUID])?
    // The paths of sysfs and procfs. A test sets other paths.
    let system: String
    let processes: String

    /// Creates the probes of this machine.
    init() {
        self.init(system: "/sys", processes: "/proc")
        busRefusal = { SystemBus.refusal() }
        daemonDiagnostics = Status.diagnostics(at:)
        daemonBrokerFailure = Status.brokerFailure(at:)
        daemonReversedUUIDs = Status.reversedUUIDs(at:)
    }

    init(system: String, processes: String) {
        self.system = system
        self.processes = processes
    }

    // The time limit for a broker's answer. It is longer than two repetitions of a lost SYN take (1 s, then 2 s).
    static let connectMilliseconds: Int32 = 5_000

    // MARK: Bluetooth

    /// Uses the sockets of the kernel, `/sys/class/bluetooth` and `/sys/class/rfkill`.
    func bluetooth() -> DoctorFacts.Bluetooth {
        var facts = DoctorFacts.Bluetooth()
        // AF_BLUETOOTH is 31, BTPROTO_HCI is 1 (net/bluetooth/bluetooth.h).
        let descriptor = socket(31, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 1)
        if descriptor < 0 { facts.socketFailure = Errno(rawValue: errno) }
        defer { if descriptor >= 0 { _ = close(descriptor) } }
        facts.adapters = adapters { Self.adapter($0, descriptor) }
        facts.switches = switches()
        return facts
    }

    func adapters(
        asking: (UInt16) -> (isPowered: Bool, address: DeviceAddress?)? = { _ in nil }
    ) -> [DoctorFacts.Adapter] {
        let folder = "\(system)/class/bluetooth"
        var adapters: [(UInt16, DoctorFacts.Adapter)] = []
        for name in SmallFile.names(in: FilePath(folder)) ?? [] {
            // Connections (hci0:64) are listed next to the adapters.
            guard name.hasPrefix("hci"), let number = UInt16(name.dropFirst(3)) else { continue }
            let control = "\(folder)/\(name)/device/../power/control"
            let subsystem = SmallFile.target(of: FilePath("\(folder)/\(name)/device/subsystem"))
            let isSuspended = subsystem?.hasSuffix("/usb") ?? false && SmallFile.value(of: FilePath(control)) == "auto"
            let answer = asking(number)
            adapters.append(
                (
                    number,
                    DoctorFacts.Adapter(
                        name: name, address: answer?.address, isPowered: answer?.isPowered,
                        autosuspend: isSuspended ? control : nil)
                ))
        }
        return adapters.sorted { $0.0 < $1.0 }.map(\.1)
    }

    // HCIGETDEVINFO (net/bluetooth/hci_sock.h) needs no capability. struct hci_dev_info has 92 bytes: the number, the
    // name (8 bytes), the address (6 bytes, the least significant first), and at 16 the flags, whose bit 0 is HCI_UP.
    private static func adapter(
        _ number: UInt16, _ descriptor: Int32
    ) -> (isPowered: Bool, address: DeviceAddress?)? {
        guard descriptor >= 0 else { return nil }
        return unsafe withUnsafeTemporaryAllocation(byteCount: 128, alignment: 8) { info in
            for index in info.indices { unsafe info[index] = 0 }
            unsafe info.storeBytes(of: number, as: UInt16.self)
            guard unsafe clinux_ioctl(descriptor, 0x8004_48D3, info.baseAddress) == 0 else { return nil }
            var address: UInt64 = 0
            for offset in 0..<6 { address |= UInt64(unsafe info[10 + offset]) << (8 * UInt64(offset)) }
            return (
                unsafe info.load(fromByteOffset: 16, as: UInt32.self) & 1 != 0,
                address == 0 ? nil : DeviceAddress(address, kind: .public)
            )
        }
    }

    func switches() -> [DoctorFacts.Switch] {
        let folder = "\(system)/class/rfkill"
        return (SmallFile.names(in: FilePath(folder)) ?? []).sorted().compactMap { entry in
            guard SmallFile.value(of: FilePath("\(folder)/\(entry)/type")) == "bluetooth" else { return nil }
            return DoctorFacts.Switch(
                name: SmallFile.value(of: FilePath("\(folder)/\(entry)/name")) ?? entry,
                isSoftBlocked: SmallFile.value(of: FilePath("\(folder)/\(entry)/soft")) == "1",
                isHardBlocked: SmallFile.value(of: FilePath("\(folder)/\(entry)/hard")) == "1")
        }
    }

    // MARK: The bus

    /// Checks the socket of the bus, and searches the processes for bluetoothd.
    func bus() -> DoctorFacts.Bus {
        let path = Self.busPath(Program.variable("DBUS_SYSTEM_BUS_ADDRESS"))
        let failure = LocalSocket.connectFailure(path)
        return DoctorFacts.Bus(
            socket: path, failure: failure, isDaemonRunning: isRunning("bluetoothd"),
            isDaemonInstalled: Self.isUnitInstalled("bluetooth.service"),
            refusal: failure == nil ? busRefusal?() : nil)
    }

    /// Returns whether a folder of system units contains the unit (systemd.unit(5), “Unit File Load Path”).
    private static func isUnitInstalled(_ name: String) -> Bool {
        ["/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"].contains {
            accessFailure("\($0)/systemd/system/\(name)", F_OK) == nil
        }
    }

    /// Returns the path in the address of a bus (D-Bus specification, “Server Addresses”), or the usual path of the
    /// system bus if the address has none. An abstract name starts with `@`.
    static func busPath(_ address: String?) -> String {
        let usual = "/run/dbus/system_bus_socket"
        guard let address, let first = address.split(separator: ";").first, first.hasPrefix("unix:") else {
            return usual
        }
        let pairs = first.dropFirst("unix:".count).split(separator: ",")
        if let path = pairs.first(where: { $0.hasPrefix("path=") }) { return String(path.dropFirst(5)) }
        if let name = pairs.first(where: { $0.hasPrefix("abstract=") }) { return "@" + name.dropFirst(9) }
        return usual
    }

    func isRunning(_ command: String) -> Bool {
        (SmallFile.names(in: FilePath(processes)) ?? []).contains { name in
            Int32(name) != nil && SmallFile.value(of: FilePath("\(processes)/\(name)/comm")) == command
        }
    }

    // MARK: Rights

    /// Reads the effective capabilities from `/proc/self/status`.
    func rights() -> DoctorFacts.Rights {
        let status = SmallFile.value(of: FilePath("\(processes)/self/status")) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("CapEff:") }
        let bits = line.flatMap { UInt64($0.dropFirst(7).drop { $0 == "\t" || $0 == " " }, radix: 16) } ?? 0
        // CAP_NET_ADMIN is 12, CAP_NET_RAW is 13 (linux/capability.h).
        return DoctorFacts.Rights(
            user: Self.userName(), hasNetworkAdministration: bits & 1 << 12 != 0, hasRawNetwork: bits & 1 << 13 != 0)
    }

    private static func userName() -> String {
        let number = geteuid()
        guard let entry = unsafe getpwuid(number), let name = unsafe entry.pointee.pw_name else {
            return "user \(number)"
        }
        return unsafe String(cString: name)
    }

    // MARK: The machine

    /// Asks adjtimex(2) for STA_UNSYNC.
    func isClockSynchronized() -> Bool? {
        var state = timex()
        let result = unsafe adjtimex(&state)
        guard result >= 0 else { return nil }
        // TIME_ERROR is 5, STA_UNSYNC is 0x40 (linux/timex.h).
        return result != 5 && state.status & 0x40 == 0
    }

    /// Uses access(2) and statvfs(3) for the folder, or for the nearest existing folder above it.
    func directory(_ path: String) -> DoctorFacts.Directory {
        var folder = FilePath(path)
        var failure = Self.accessFailure(folder.string, W_OK | X_OK)
        let exists = failure != .noSuchFileOrDirectory
        while failure == .noSuchFileOrDirectory, folder.removeLastComponent() {
            failure = Self.accessFailure(folder.string.isEmpty ? "/" : folder.string, W_OK | X_OK)
        }
        var space = statvfs()
        let result = unsafe statvfs(folder.string, &space)
        let free =
            result == 0
            ? Int64(
                clamping: UInt64(space.f_bavail).multipliedReportingOverflow(by: UInt64(space.f_frsize)).partialValue)
            : nil
        if exists, failure != .notDirectory, !SmallFile.isDirectory(FilePath(path)) { failure = .notDirectory }
        return DoctorFacts.Directory(
            failure: failure, exists: exists, free: free, isInlineF2FS: isInlineF2FS(folder.string))
    }

    private func isInlineF2FS(_ folder: String) -> Bool {
        var status = stat()
        guard unsafe stat(folder, &status) == 0,
            let table = try? WholeFile.read(FilePath(processes).appending("self/mountinfo"), bytesMax: 16 << 20)
        else { return false }
        return MountTable.hasInlineF2FS(String(decoding: table, as: UTF8.self), device: UInt64(status.st_dev))
    }

    /// Uses access(2).
    func readFailure(_ path: String) -> Errno? { Self.accessFailure(path, R_OK) }

    /// Searches below the PREFIX of the installed program, or in the sources that the program was built from.
    func sampleConfiguration() -> String? { InstalledFiles.sample }

    /// Uses stat(2).
    func secretExposure(_ path: String) -> String? { SecretFile.exposure(path) }

    private static func accessFailure(_ path: String, _ mode: Int32) -> Errno? {
        unsafe access(path, mode) == 0 ? nil : Errno(rawValue: errno)
    }

    /// Uses getaddrinfo(3), then connect(2) for each address until one accepts the connection.
    func connectFailure(host: String, port: UInt16) -> String? {
        RemoteSocket.connectFailure(host: host, port: port, milliseconds: Self.connectMilliseconds)
    }

    /// Uses connect(2).
    func daemon(statusSocket: String) -> DoctorFacts.Daemon {
        let failure = LocalSocket.connectFailure(statusSocket)
        // If the queue is full (EAGAIN), a gateway runs, and many clients ask it.
        guard failure == nil || failure == .wouldBlock else {
            var daemon = DoctorFacts.Daemon(isRunning: false, occupant: UnixSocket.occupant(of: statusSocket))
            daemon.isForbidden = failure == .permissionDenied
            daemon.isInstalled = Self.isUnitInstalled("beacon-gateway.service")
            return daemon
        }
        var daemon = DoctorFacts.Daemon(
            isRunning: true, diagnostics: daemonDiagnostics?(statusSocket),
            brokerFailure: daemonBrokerFailure?(statusSocket))
        daemon.reversedUUIDs = daemonReversedUUIDs?(statusSocket) ?? []
        return daemon
    }
}
