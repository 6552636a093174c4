import BeaconMonitoring
import BluetoothLE
import GatewayConfiguration
import SystemPackage

// From the kernel up to the way of hearing.
extension Doctor {
    mutating func examineBluetooth() {
        let bluetooth = probes.bluetooth()
        let rights = probes.rights()
        let bus = probes.bus()
        examineKernel(bluetooth)
        examineSwitches(bluetooth.switches)
        if bluetooth.socketFailure == nil { examineAdapters(bluetooth.adapters, rights) }
        examineBus(bus, rights)
        examineBackend(bluetooth, bus, rights)
    }

    private mutating func examineKernel(_ bluetooth: DoctorFacts.Bluetooth) {
        switch bluetooth.socketFailure {
        case nil: find("kernel", .ok, "the kernel has Bluetooth")
        case .permissionDenied?, .notPermitted?:
            find(
                "kernel", .wrong, "this process may not open a Bluetooth socket: something filters its system calls",
                flags: .authorizationDenied,
                remedy:
                    "under systemd: RestrictAddressFamilies=AF_BLUETOOTH AF_UNIX AF_INET AF_INET6; in a container: allow it"
            )
        case .addressFamilyNotSupported?:
            find(
                "kernel", .wrong, "the kernel has no Bluetooth, or this is not the machine's own network namespace",
                flags: .serviceUnavailable,
                remedy: """
                    sudo modprobe bluetooth; where there is no such module: sudo apt install \
                    linux-image-$(dpkg --print-architecture), whose kernel has it (those for clouds do not); in a container: \
                    use the host's network
                    """)
        case let failure?:
            find(
                "kernel", .wrong, "no Bluetooth socket: \(failure)", flags: .serviceUnavailable,
                remedy: "sudo dmesg | grep -i bluetooth")
        }
    }

    private mutating func examineSwitches(_ switches: [DoctorFacts.Switch]) {
        for item in switches where item.isHardBlocked {
            find(
                "rfkill", .wrong, "a hardware switch blocks \(item.name)",
                flags: [.authorizationDeniedGlobally, .authorizationRestricted],
                remedy: "switch Bluetooth on at the machine: a slider, a key with Fn, or the firmware's setup")
        }
        for item in switches where item.isSoftBlocked {
            find(
                "rfkill", .wrong, "rfkill blocks \(item.name)", flags: .authorizationDeniedGlobally,
                remedy: "sudo rfkill unblock bluetooth")
        }
        if !switches.contains(where: { $0.isHardBlocked || $0.isSoftBlocked }) {
            find("rfkill", .ok, switches.isEmpty ? "rfkill has no switch for Bluetooth" : "rfkill blocks nothing")
        }
    }

    private mutating func examineAdapters(_ adapters: [DoctorFacts.Adapter], _ rights: DoctorFacts.Rights) {
        if adapters.isEmpty {
            find(
                "adapter", .wrong, "no Bluetooth adapter is there", flags: .serviceUnavailable,
                remedy: """
                    plug one in; for one that is there: sudo dmesg | grep -i -e bluetooth -e firmware; on a Raspberry Pi \
                    take dtoverlay=disable-bt out of /boot/firmware/config.txt
                    """)
        }
        let wanted = scanner.adapters
        for entry in wanted where !adapters.isEmpty && !adapters.contains(where: { $0.mayBe(entry) }) {
            let those = adapters.map { adapter in adapter.address.map { "\(adapter.name) (\($0))" } ?? adapter.name }
            find(
                "adapter", .wrong, "\(entry), which scanner.adapters names, is not there", flags: .scannerUnavailable,
                remedy: "plug it in, or name others: there are \(those.joined(separator: ", "))")
        }
        for adapter in adapters where wanted.isEmpty || wanted.contains(where: adapter.mayBe) {
            examine(adapter, rights)
        }
    }

    private mutating func examine(_ adapter: DoctorFacts.Adapter, _ rights: DoctorFacts.Rights) {
        let name = adapter.name
        switch adapter.isPowered {
        case false?:
            let powersItself = rights.hasNetworkAdministration && scanner.backend != .dbus
            find(
                "adapter", powersItself ? .warning : .wrong, "\(name) is switched off",
                flags: powersItself ? [] : .authorizationRequestInProgress,
                remedy: "bluetoothctl power on; for good: AutoEnable=true under [Policy] in /etc/bluetooth/main.conf")
        case true?: find("adapter", .ok, "\(name) is there and switched on")
        case nil: find("adapter", .ok, "\(name) is there")
        }
        if let path = adapter.autosuspend {
            find(
                "adapter", .warning, "\(name) may be suspended by USB between two advertisements",
                remedy: "install the udev rules (make install), or: echo on | sudo tee \(path)")
        }
    }

    private mutating func examineBus(_ bus: DoctorFacts.Bus, _ rights: DoctorFacts.Rights) {
        // Where the management backend is open, the others are its understudies.
        let state: DoctorFinding.State
        switch scanner.backend {
        case .dbus: state = .wrong
        case .auto: state = rights.hasNetworkAdministration || rights.hasRawNetwork ? .ok : .wrong
        case .management, .hci: state = .ok
        }
        let unneeded =
            state == .ok
            ? "; the \(scanner.backend == .auto ? "best" : "chosen") backend does without" : ""
        if let failure = bus.failure {
            let isDenied = failure == .permissionDenied || failure == .notPermitted
            find(
                "dbus", state, "the system bus can't be reached at \(bus.socket): \(failure)\(unneeded)",
                flags: state == .ok ? [] : isDenied ? .authorizationDenied : .serviceUnavailable,
                remedy: state == .ok ? nil : "sudo apt install dbus; sudo systemctl start dbus.socket")
        } else if let refusal = bus.refusal {
            find(
                "dbus", state, "the system bus does not let \(rights.user) talk to bluetoothd: \(refusal)\(unneeded)",
                flags: state == .ok ? [] : .authorizationDenied,
                remedy: state == .ok
                    ? nil
                    : "install the D-Bus policy (make install), or run as its user: sudo -u beacon-gateway beacon-gateway doctor"
            )
        } else {
            find("dbus", .ok, "the system bus answers")
        }
        if bus.isDaemonRunning {
            find("bluetoothd", .ok, "bluetoothd runs")
        } else {
            find(
                "bluetoothd", state, "bluetoothd does not run\(unneeded)",
                flags: state == .ok ? [] : .serviceUnavailable,
                remedy: state == .ok
                    ? nil
                    : bus.isDaemonInstalled
                        ? "sudo systemctl enable --now bluetooth"
                        : "sudo apt install bluez; sudo systemctl enable --now bluetooth")
        }
    }

    // Which backends this process could use, as far as rights go.
    private mutating func examineBackend(
        _ bluetooth: DoctorFacts.Bluetooth, _ bus: DoctorFacts.Bus, _ rights: DoctorFacts.Rights
    ) {
        let backend = scanner.backend
        let isBusOpen = bus.failure == nil && bus.refusal == nil && bus.isDaemonRunning
        var open: [String] = []
        if bluetooth.socketFailure == nil, rights.hasNetworkAdministration { open.append("management") }
        if isBusOpen { open.append("dbus") }
        if bluetooth.socketFailure == nil, rights.hasRawNetwork { open.append("hci") }
        let who = "\(rights.user)"
        let asService =
            "the service has the right: sudo systemctl start beacon-gateway; to look at its rights, run doctor with sudo"
        switch backend {
        case .management where !rights.hasNetworkAdministration:
            find(
                "rights", .wrong, "scanner.backend management needs CAP_NET_ADMIN, which \(who) lacks",
                flags: .authorizationDenied, remedy: asService)
        case .hci where !rights.hasRawNetwork:
            find(
                "rights", .wrong, "scanner.backend hci needs CAP_NET_RAW, which \(who) lacks",
                flags: .authorizationDenied,
                remedy:
                    "sudo systemctl edit beacon-gateway, with AmbientCapabilities=CAP_NET_RAW CAP_NET_ADMIN and the same for CapabilityBoundingSet under [Service]"
            )
        case .auto where open.isEmpty:
            let isDenied = bluetooth.socketFailure == nil && !rights.hasNetworkAdministration && !rights.hasRawNetwork
            find(
                "rights", .wrong, "no way of hearing is open to \(who)", flags: isDenied ? .authorizationDenied : [],
                remedy: isDenied ? asService : "mend what is said above first")
        case .auto where open == ["dbus"]:
            find(
                "rights", .warning,
                "\(who) may use dbus alone, over which a controller that filters duplicates gives one report per beacon and 10 s",
                flags: .accuracyLimited, remedy: asService)
        default:
            find(
                "rights", .ok,
                open.isEmpty
                    ? "\(who) has what scanner.backend \(backend.rawValue) asks for"
                    : "open to \(who): \(open.joined(separator: ", "))")
        }
    }
}

extension DoctorFacts.Adapter {
    /// Whether it is the adapter that an entry of `scanner.adapters` names, or may be: an address that nobody tells is not
    /// another one.
    fileprivate func mayBe(_ entry: String) -> Bool {
        if name == entry { return true }
        guard let wanted = DeviceAddress(entry, kind: .public) else { return false }
        return address.map { $0.value == wanted.value } ?? true
    }
}
