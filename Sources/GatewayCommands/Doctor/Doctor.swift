import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
import GatewayConfiguration
import JSON
import OperatorLogging
import SystemPackage

/// The result of one check.
struct DoctorFinding: Sendable, Hashable {
    /// Whether the result prevents a gateway from working.
    enum State: String, Sendable, Hashable, CaseIterable {
        /// Nothing has to be fixed.
        case ok
        /// A gateway works, but not as well as it could, or it can stop working.
        case warning
        /// It prevents a gateway from working on this machine.
        case wrong
    }

    /// The name of the check: `kernel`, `adapter`, `rfkill`, …. Several findings can have the same name.
    let check: String
    /// Whether it prevents a gateway from working.
    let state: State
    /// The flags that a gateway would raise for it.
    let flags: Diagnostics
    /// The finding in one sentence.
    let summary: String
    /// The command that fixes it, or instructions if no command does; `nil` if there is nothing to fix.
    let remedy: String?

    /// Creates the finding of a check, with the remedy if there is something to fix.
    init(_ check: String, _ state: State, _ summary: String, flags: Diagnostics = [], remedy: String? = nil) {
        self.check = check
        self.state = state
        self.flags = flags
        self.summary = summary
        self.remedy = remedy
    }
}

/// Checks everything that a gateway needs on this machine.
///
/// It changes nothing. It sends nothing from the machine except TCP connection requests to hosts in the configuration,
/// and the queries to find their addresses.
package struct Doctor {
    /// The findings, in the order of the checks.
    private(set) var findings: [DoctorFinding] = []
    let probes: any DoctorProbes
    /// The configuration; `nil` if it could not be loaded. The machine is then checked for the default settings.
    let configuration: Configuration?
    /// The path of the configuration.
    let path: String
    let scanner: ScannerConfiguration
    let output: OutputConfiguration

    /// Whether a finding is `wrong`.
    package var isSomethingWrong: Bool { findings.contains { $0.state == .wrong } }

    /// Checks this machine for the configuration at `path`. `isDefault` means that no user named the file: if it is
    /// missing, the remedy is to create it.
    package init(configuration path: String, isDefault: Bool) {
        self.init(configuration: path, isDefault: isDefault, probes: SystemDoctorProbes())
    }

    /// Checks a machine.
    ///
    /// - Parameters:
    ///   - path: the configuration. If it cannot be read or is invalid, that is a finding, and the machine is checked
    ///     for the default settings.
    ///   - isDefault: whether no user named the file. If it is missing, the remedy is then to create it.
    ///   - probes: the source of the facts.
    init(configuration path: String, isDefault: Bool, probes: any DoctorProbes) {
        var first: DoctorFinding
        var loaded: Configuration?
        do throws(ExitFailure) {
            var configuration = try ConfigurationFile.load(path, isReplay: false)
            let names = Self.names(of: &configuration, from: path)
            loaded = configuration
            first = names ?? DoctorFinding("configuration", .ok, "\(path) has no errors")
            if names == nil, let warning = configuration.warnings.first {
                let count = configuration.warnings.count + configuration.warningsLeftOut
                let more = count > 1 ? ", and \(count - 1) more" : ""
                first = DoctorFinding(
                    "configuration", .warning, "\(warning)\(more)", remedy: "beacon-gateway check \(path)")
            }
        } catch {
            first = DoctorFinding(
                "configuration", .wrong, error.message.split(separator: "\n").first.map(String.init) ?? error.message,
                remedy: ConfigurationFile.isMissing(path)
                    ? Self.remedy(missing: path, isDefault, probes.sampleConfiguration())
                    : "beacon-gateway check \(path)")
        }
        self.init(loaded, path: path, probes: probes, first: first)
    }

    /// Reads the names of beacons.
    ///
    /// - Returns: a finding if the names cannot be read. It is a warning if this user has no permission, because the
    ///   user of the service can have it.
    private static func names(of configuration: inout Configuration, from path: String) -> DoctorFinding? {
        do throws(ExitFailure) {
            try ConfigurationFile.readNames(into: &configuration, from: path)
            return nil
        } catch {
            return DoctorFinding(
                "configuration", error.code == .noPermission ? .warning : .wrong,
                error.message.split(separator: "\n").first.map(String.init) ?? error.message,
                remedy: "beacon-gateway check \(path)")
        }
    }

    /// Returns the remedy for a missing configuration.
    private static func remedy(missing path: String, _ isDefault: Bool, _ sample: String?) -> String {
        guard isDefault else { return "name a file that exists with --config" }
        guard let sample else {
            return "create it with at least one condition: "
                + "conditions: [{identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, per_beacon: true}]"
        }
        return "sudo install -D -m 644 \(sample) \(path), and edit it"
    }

    /// Checks a machine for a configuration that was loaded from `path`; `nil` means the default settings.
    init(
        _ configuration: Configuration?, path: String = ConfigurationFile.defaultPath, probes: any DoctorProbes,
        first: DoctorFinding? = nil
    ) {
        self.configuration = configuration
        self.path = path
        scanner = configuration?.scanner ?? ScannerConfiguration()
        output = configuration?.output ?? OutputConfiguration()
        self.probes = probes
        if let first { findings.append(first) }
        examineBluetooth()
        examineConditions()
        examineMachine()
        examineBroker()
        examineDaemon()
    }

    mutating func find(
        _ check: String, _ state: DoctorFinding.State, _ summary: String, flags: Diagnostics = [], remedy: String? = nil
    ) {
        findings.append(DoctorFinding(check, state, summary, flags: flags, remedy: remedy))
    }

    // MARK: The machine

    // With less free space than this, the events of a day may not fit.
    private static let freeMin: Int64 = 16 << 20

    private mutating func examineConditions() {
        guard let configuration else { return }
        let conditions = configuration.monitors.flatMap(\.conditions)
        let circles = conditions.count { if case .circle = $0.condition { true } else { false } }
        let limit = configuration.engine.conditionLimit
        // A circle that cannot be evaluated does not take a place (rule C5).
        let places = configuration.location == nil ? conditions.count - circles : conditions.count
        if limit > 0, places > limit {
            let kind = configuration.location == nil ? "beacon conditions" : "conditions"
            find(
                "conditions", .warning,
                "\(places - limit) of \(places) \(kind) \(places - limit == 1 ? "is" : "are") not monitored",
                flags: .conditionLimitExceeded,
                remedy: "raise monitor.condition_limit (\(limit)), or set it to 0 for no limit")
        }
        switch configuration.location {
        case nil where circles > 0:
            find(
                "location", .warning,
                "\(PlainText.count(circles, "circle is", "circles are")) not monitored: location has no source",
                flags: .conditionUnsupported, remedy: "set location.source to gpsd or gpx")
        case .gpsd(let host, let port)? where circles > 0:
            if let failure = probes.connectFailure(host: host, port: port) {
                find(
                    "location", .wrong, "gpsd can't be reached: \(failure)", flags: .locationUnavailable,
                    remedy: "sudo apt install gpsd; sudo systemctl enable --now gpsd")
            } else {
                find("location", .ok, "gpsd answers at \(host):\(port)")
            }
        case .gpx(let track)? where circles > 0:
            let file = track.file
            if let failure = probes.readFailure(file) {
                find(
                    "location", .wrong, "the track \(file) can't be read: \(failure)", flags: .locationUnavailable,
                    remedy: failure == .noSuchFileOrDirectory
                        ? "copy the track there, or set location.file" : "set location.file, or: sudo chmod o+r \(file)"
                )
            } else {
                find("location", .ok, "the track \(file) can be read")
            }
        default: break
        }
    }

    private mutating func examineMachine() {
        switch probes.isClockSynchronized() {
        case true?: find("clock", .ok, "the wall clock is synchronised")
        case false?:
            find(
                "clock", .warning, "the wall clock was not set: dates can be wrong, but the order of events is right",
                flags: .clockUnsynchronized, remedy: "sudo timedatectl set-ntp true; timedatectl timesync-status")
        case nil: find("clock", .warning, "the kernel does not report whether the wall clock was set")
        }
        examineDirectory("output.directory", output.directory, retained: output.retainSize)
        examineDirectory("output.state_directory", output.stateDirectory, retained: nil)
    }

    private mutating func examineDirectory(_ setting: String, _ path: String, retained: Int64?) {
        let directory = probes.directory(path)
        let make = "sudo install -d -o beacon-gateway -g beacon-gateway -m 750 \(path)"
        if let failure = directory.failure {
            find(
                "disk", .wrong, "\(path) (\(setting)) can't be written to by this user: \(failure)",
                flags: .persistenceUnavailable,
                remedy: failure == .readOnlyFileSystem
                    ? "sudo mount -o remount,rw $(findmnt -n -o TARGET -T \(path))"
                    : "\(make); or run doctor as the service's user: sudo -u beacon-gateway beacon-gateway doctor")
            return
        }
        if directory.isInlineF2FS {
            find(
                "disk", .warning,
                "\(path) (\(setting)) is on f2fs with small files in their inodes: after a power cut, data can be missing that "
                    + "fdatasync reported as written",
                remedy:
                    "sudo mount -o remount,noinline_data $(findmnt -n -o TARGET -T \(path)), and the same in /etc/fstab"
            )
        }
        guard let free = directory.free else { return find("disk", .ok, "\(path) can be written to") }
        if free < Self.freeMin {
            find(
                "disk", .wrong, "\(path) has \(Self.size(free)) left", flags: .persistenceUnavailable,
                remedy: "free space (sudo journalctl --vacuum-size=100M; sudo apt clean), or lower output.retain_size")
        } else if let retained, free < retained {
            find(
                "disk", .warning,
                "\(path) has \(Self.size(free)) left, and output.retain_size allows \(Self.size(retained))",
                remedy: "lower output.retain_size, or free space; existing event files count towards it")
        } else {
            find(
                "disk", .ok,
                "\(path) \(directory.exists ? "can be written to" : "will be created"), with \(Self.size(free)) left")
        }
    }

    // Returns a size in whole units, rounded down.
    private static func size(_ bytes: Int64) -> String {
        switch bytes {
        case (1 << 30)...: "\(bytes >> 30) GiB"
        case (1 << 20)...: "\(bytes >> 20) MiB"
        case (1 << 10)...: "\(bytes >> 10) KiB"
        default: "\(max(bytes, 0)) bytes"
        }
    }

    private mutating func examineBroker() {
        guard let mqtt = configuration?.mqtt else { return }
        if let failure = probes.connectFailure(host: mqtt.host, port: mqtt.port) {
            find(
                "broker", .wrong, "the broker can't be reached: \(failure)",
                remedy: "check mqtt.host and mqtt.port; until the broker can be reached, events wait in the event files"
            )
        } else {
            find("broker", .ok, "the broker accepts connections at \(mqtt.host):\(mqtt.port)")
        }
        let files = [
            ("mqtt.password_file", mqtt.passwordFile), ("mqtt.tls.ca_file", mqtt.tls?.caFile),
            ("mqtt.tls.ca_directory", mqtt.tls?.caDirectory),
            ("mqtt.tls.certificate_file", mqtt.tls?.certificateFile), ("mqtt.tls.key_file", mqtt.tls?.keyFile),
        ]
        for exposure in [mqtt.passwordFile, mqtt.tls?.keyFile].compactMap({ $0.flatMap(probes.secretExposure) }) {
            let (what, remedy) = exposure.cut(at: ": ")
            find("broker", .warning, what, remedy: remedy)
        }
        for case (let setting, let path?) in files {
            guard let failure = probes.readFailure(path) else { continue }
            find(
                "broker", .wrong, "\(path) (\(setting)) can't be read by this user: \(failure)",
                remedy: failure == .noSuchFileOrDirectory
                    ? "sudo install -m 640 -g beacon-gateway FILE \(path)"
                    : "sudo chgrp beacon-gateway \(path); sudo chmod 640 \(path)")
        }
    }

    private mutating func examineDaemon() {
        let daemon = probes.daemon(statusSocket: output.statusSocket)
        if let occupant = daemon.occupant {
            return find(
                "daemon", .wrong, "output.status_socket is \(output.statusSocket), which is \(occupant)",
                remedy: "use a path that does not exist; the gateway removes only a socket that no process listens on")
        }
        if daemon.isForbidden {
            return find(
                "daemon", .warning, "this user has no permission to ask the gateway at \(output.statusSocket)",
                remedy: "sudo beacon-gateway doctor, or once: sudo usermod -aG beacon-gateway $USER, and a new login")
        }
        guard daemon.isRunning else {
            return find(
                "daemon", .warning, "no gateway runs with this configuration",
                remedy: daemon.isInstalled
                    ? "sudo systemctl enable --now beacon-gateway"
                    : "no unit is installed; in a terminal: beacon-gateway run --config \(path)")
        }
        if let failure = daemon.brokerFailure {
            let (what, remedy) = failure.cut(at: "; ")
            find("broker", .wrong, "the gateway reports: \(what)", remedy: remedy ?? "beacon-gateway status")
        }
        for reversed in daemon.reversedUUIDs {
            find("conditions", .warning, reversed.summary, remedy: reversed.remedy)
        }
        guard let diagnostics = daemon.diagnostics, !diagnostics.isEmpty else {
            return find("daemon", .ok, "the gateway runs")
        }
        for (bit, name) in Diagnostics.names.enumerated() {
            let flag = Diagnostics(rawValue: 1 << UInt32(bit))
            guard diagnostics.contains(flag) else { continue }
            let (state, summary, remedy) = Self.words(for: flag)
            find("daemon", state, "the gateway reports \(name): \(summary)", flags: flag, remedy: remedy)
        }
    }

    // Returns the severity and meaning of a flag that the running gateway reports, and a remedy. A flag that another
    // check of `doctor` finds too refers to the findings above.
    private static func words(for flag: Diagnostics) -> (DoctorFinding.State, String, String) {
        switch flag {
        case .insufficientlyInUse, .serviceSessionRequired:
            (
                .wrong, "explicit service sessions are required, and none is held",
                "hold one, or do not require sessions"
            )
        case .scannerUnavailable:
            (
                .wrong, "an adapter that should scan does not",
                "beacon-gateway status; sudo journalctl -u beacon-gateway -n 50"
            )
        case .accuracyLimited:
            (
                .warning, "the adapter does not deliver all reports",
                "give the gateway CAP_NET_ADMIN (the installed unit has it), and set scanner.backend to auto or management"
            )
        case .trackingLimitExceeded:
            (
                .warning, "more beacons match the conditions than max_beacons or max_new_beacons allow",
                "name the important ones (beacons), raise monitor.max_beacons or max_new_beacons, or narrow the conditions"
            )
        case .locationUnavailable:
            (
                .wrong, "circles are monitored and there is no fix",
                "cgps shows the satellites; the antenna must see the sky"
            )
        case .conditionLimitExceeded, .conditionUnsupported, .clockUnsynchronized:
            (.warning, "see above", "beacon-gateway status")
        default: (.wrong, "see above", "beacon-gateway status")
        }
    }

    // MARK: Bluetooth

    private mutating func examineBluetooth() {
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
                "kernel", .wrong,
                "this process has no permission to open a Bluetooth socket: its system calls are filtered",
                flags: .authorizationDenied,
                remedy:
                    "under systemd: RestrictAddressFamilies=AF_BLUETOOTH AF_UNIX AF_INET AF_INET6; in a container: allow this address family"
            )
        case .addressFamilyNotSupported?:
            find(
                "kernel", .wrong,
                "the kernel has no Bluetooth, or this process is not in the machine's own network namespace",
                flags: .serviceUnavailable,
                remedy: """
                    sudo modprobe bluetooth; if there is no such module: sudo apt install \
                    linux-image-$(dpkg --print-architecture), which has it (kernels for clouds do not); in a container: \
                    use the host's network
                    """)
        case let failure?:
            find(
                "kernel", .wrong, "a Bluetooth socket can't be opened: \(failure)", flags: .serviceUnavailable,
                remedy: "sudo dmesg | grep -i bluetooth")
        }
    }

    private mutating func examineSwitches(_ switches: [DoctorFacts.Switch]) {
        for item in switches where item.isHardBlocked {
            find(
                "rfkill", .wrong, "a hardware switch blocks \(item.name)",
                flags: [.authorizationDeniedGlobally, .authorizationRestricted],
                remedy: "switch Bluetooth on with the machine's switch, a key with Fn, or the setup of the firmware")
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
                "adapter", .wrong, "this machine has no Bluetooth adapter", flags: .serviceUnavailable,
                remedy: """
                    plug one in; if one is plugged in: sudo dmesg | grep -i -e bluetooth -e firmware; on a Raspberry Pi \
                    remove dtoverlay=disable-bt from /boot/firmware/config.txt
                    """)
        }
        let wanted = scanner.adapters
        for entry in wanted where !adapters.isEmpty && !adapters.contains(where: { $0.mayBe(entry) }) {
            let those = adapters.map { adapter in adapter.address.map { "\(adapter.name) (\($0))" } ?? adapter.name }
            find(
                "adapter", .wrong, "\(entry) of scanner.adapters does not exist", flags: .scannerUnavailable,
                remedy: "plug it in, or use one of \(those.joined(separator: ", "))")
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
                remedy: "bluetoothctl power on; permanently: AutoEnable=true under [Policy] in /etc/bluetooth/main.conf"
            )
        case true?: find("adapter", .ok, "\(name) is switched on")
        case nil: find("adapter", .ok, "\(name) exists")
        }
        if let path = adapter.autosuspend {
            find(
                "adapter", .warning, "USB can suspend \(name) between two advertisements",
                remedy: "install the udev rules (make install), or: echo on | sudo tee \(path)")
        }
    }

    private mutating func examineBus(_ bus: DoctorFacts.Bus, _ rights: DoctorFacts.Rights) {
        // With `auto`, the bus and bluetoothd must work only if this process has the rights for neither `management`
        // nor `hci`.
        let state: DoctorFinding.State
        switch scanner.backend {
        case .dbus: state = .wrong
        case .auto: state = rights.hasNetworkAdministration || rights.hasRawNetwork ? .ok : .wrong
        case .management, .hci: state = .ok
        }
        let unneeded =
            state == .ok
            ? "; the \(scanner.backend == .auto ? "best" : "chosen") backend does not need it" : ""
        if let failure = bus.failure {
            let isDenied = failure == .permissionDenied || failure == .notPermitted
            find(
                "dbus", state, "the system bus can't be reached at \(bus.socket): \(failure)\(unneeded)",
                flags: state == .ok ? [] : isDenied ? .authorizationDenied : .serviceUnavailable,
                remedy: state == .ok ? nil : "sudo apt install dbus; sudo systemctl start dbus.socket")
        } else if let refusal = bus.refusal {
            find(
                "dbus", state, "the system bus does not allow \(rights.user) to call bluetoothd: \(refusal)\(unneeded)",
                flags: state == .ok ? [] : .authorizationDenied,
                remedy: state == .ok
                    ? nil
                    : "install the D-Bus policy (make install), or run as the service's user: sudo -u beacon-gateway beacon-gateway doctor"
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

    // Checks which backends this process can use, as far as its rights, the kernel and the bus permit.
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
            "the service has this right: sudo systemctl start beacon-gateway; to check the service's rights, run doctor with sudo"
        switch backend {
        case .management where !rights.hasNetworkAdministration:
            find(
                "rights", .wrong, "scanner.backend management needs CAP_NET_ADMIN, which \(who) does not have",
                flags: .authorizationDenied, remedy: asService)
        case .hci where !rights.hasRawNetwork:
            find(
                "rights", .wrong, "scanner.backend hci needs CAP_NET_RAW, which \(who) does not have",
                flags: .authorizationDenied,
                remedy:
                    "sudo systemctl edit beacon-gateway, with AmbientCapabilities=CAP_NET_RAW CAP_NET_ADMIN and the same for CapabilityBoundingSet under [Service]"
            )
        case .auto where open.isEmpty:
            let isDenied = bluetooth.socketFailure == nil && !rights.hasNetworkAdministration && !rights.hasRawNetwork
            find(
                "rights", .wrong, "\(who) can use no backend", flags: isDenied ? .authorizationDenied : [],
                remedy: isDenied ? asService : "fix the problems above first")
        case .auto where open == ["dbus"]:
            find(
                "rights", .warning,
                "\(who) can use only dbus; a controller that filters duplicates delivers one report per beacon and 10 s over it",
                flags: .accuracyLimited, remedy: asService)
        default:
            find(
                "rights", .ok,
                open.isEmpty
                    ? "\(who) has the rights that scanner.backend \(backend.rawValue) needs"
                    : "\(who) can use \(open.joined(separator: ", "))")
        }
    }

    // MARK: Output

    /// The findings for people: one line each, followed by a line with the remedy.
    package var text: String {
        var lines: [String] = []
        let width = (findings.map { PlainText.columns(of: $0.check) }.max() ?? 0) + 2
        for finding in findings {
            let state = PlainText.padded(finding.state.rawValue, to: 9)
            lines.append("\(state)\(PlainText.padded(finding.check, to: width))\(finding.summary)")
            if let remedy = finding.remedy { lines.append(PlainText.padded("", to: 9 + width) + "→ \(remedy)") }
        }
        let wrong = findings.count { $0.state == .wrong }
        let warnings = findings.count { $0.state == .warning }
        lines.append(wrong == 0 ? "nothing is wrong; warnings: \(warnings)" : "wrong: \(wrong), warnings: \(warnings)")
        return lines.map { PlainText.safe($0) }.joined(separator: "\n") + "\n"
    }

    /// The findings as one JSON object on one line, as `docs/doctor.md` describes.
    package var json: String {
        LineBuffer.lineForTerminals { buffer in
            buffer.write("version", 1)
            buffer.write("type", word: "doctor")
            buffer.write("ok", !isSomethingWrong)
            buffer.objects("findings", findings) { buffer, finding in
                buffer.write("check", finding.check)
                buffer.write("state", finding.state.rawValue)
                buffer.write("flags", finding.flags.listed)
                buffer.write("summary", finding.summary)
                buffer.write("remedy", finding.remedy)
            }
        }
    }
}

extension String {
    /// Returns the parts before and after the last `mark`, or the complete text and `nil` if it does not contain
    /// `mark`.
    fileprivate func cut(at mark: String) -> (String, String?) {
        guard let place = ranges(of: mark).last else { return (self, nil) }
        return (String(self[..<place.lowerBound]), String(self[place.upperBound...]))
    }
}

extension DoctorFacts.Adapter {
    /// Returns whether an entry of `scanner.adapters` names this adapter or can name it. If the address of the adapter
    /// is not known, each address can be its address.
    fileprivate func mayBe(_ entry: String) -> Bool {
        if name == entry { return true }
        guard let wanted = DeviceAddress(entry, kind: .public) else { return false }
        return address.map { $0.value == wanted.value } ?? true
    }
}
