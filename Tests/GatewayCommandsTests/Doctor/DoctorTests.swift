import BeaconMonitoring
import BluetoothLE
import Foundation
import GatewayConfiguration
import ProgramSupport
import SystemPackage
import Testing

@testable import GatewayCommands

@Suite struct DoctorTests {
    @Test func `on a machine without problems, all findings are ok and no flag is set`() throws {
        let doctor = try examine()
        #expect(!doctor.isSomethingWrong)
        #expect(doctor.findings.allSatisfy { $0.state == .ok }, "\(doctor.text)")
        #expect(doctor.flags == [])
        #expect(doctor.text.hasSuffix("nothing is wrong; warnings: 0\n"))
    }

    @Test func `with many problems, seven checks are wrong, and each finding that is not ok has a remedy`() throws {
        let doctor = try examine("mqtt: {host: broker, password_file: /p, username: u}") { probes in
            probes.bluetoothFacts.socketFailure = .addressFamilyNotSupported
            probes.bluetoothFacts.switches = [.init(name: "hci0", isSoftBlocked: true, isHardBlocked: true)]
            probes.busFacts = .init(
                socket: "/b", failure: .noSuchFileOrDirectory, isDaemonRunning: false, isDaemonInstalled: false)
            probes.rightsFacts.hasNetworkAdministration = false
            probes.clock = false
            probes.directories["/var/lib/beacon-gateway/events"] = .init(
                failure: .permissionDenied, exists: true, free: nil)
            probes.unreachable[1883] = "Connection refused"
            probes.unreadable["/p"] = .permissionDenied
            probes.daemonFacts = .init(isRunning: false)
        }
        #expect(doctor.isSomethingWrong)
        #expect(doctor.findings.filter { $0.state != .ok }.allSatisfy { $0.remedy != nil }, "\(doctor.text)")
        #expect(
            Set(doctor.findings.filter { $0.state == .wrong }.map(\.check)) == [
                "kernel", "rfkill", "dbus", "bluetoothd", "rights", "disk", "broker",
            ])
    }

    @Test(arguments: [
        (Errno.addressFamilyNotSupported, Diagnostics.serviceUnavailable, "sudo modprobe bluetooth"),
        (.permissionDenied, .authorizationDenied, "under systemd: RestrictAddressFamilies"),
        (.noMemory, .serviceUnavailable, "sudo dmesg"),
    ])
    func `a failed Bluetooth socket has a flag and a remedy`(failure: Errno, flag: Diagnostics, remedy: String) throws {
        let doctor = try examine { $0.bluetoothFacts.socketFailure = failure }
        let finding = try #require(doctor.finding("kernel", .wrong))
        #expect(finding.flags == flag)
        #expect(finding.remedy?.hasPrefix(remedy) ?? false)
        #expect(doctor.findings.allSatisfy { $0.check != "adapter" })
    }

    @Test func `rfkill: a soft block has its command as remedy; a hard block is also authorizationRestricted`() throws {
        var doctor = try examine { $0.bluetoothFacts.switches[0].isSoftBlocked = true }
        #expect(doctor.finding("rfkill", .wrong)?.flags == .authorizationDeniedGlobally)
        #expect(doctor.finding("rfkill", .wrong)?.remedy == "sudo rfkill unblock bluetooth")
        doctor = try examine { $0.bluetoothFacts.switches[0].isHardBlocked = true }
        #expect(doctor.finding("rfkill", .wrong)?.flags == [.authorizationDeniedGlobally, .authorizationRestricted])
    }

    @Test func `no adapter is serviceUnavailable; a missing configured adapter is scannerUnavailable`() throws {
        var doctor = try examine { $0.bluetoothFacts.adapters = [] }
        #expect(doctor.finding("adapter", .wrong)?.flags == .serviceUnavailable)
        doctor = try examine("scanner: {adapters: [hci1]}")
        #expect(doctor.finding("adapter", .wrong)?.flags == .scannerUnavailable)
        #expect(doctor.finding("adapter", .wrong)?.remedy?.hasSuffix("use one of hci0") ?? false)
        #expect(doctor.finding("adapter", .ok) == nil)
    }

    @Test func `an adapter that is off is wrong if the backend cannot switch it on, otherwise a warning`() throws {
        var doctor = try examine { $0.bluetoothFacts.adapters[0].isPowered = false }
        #expect(doctor.finding("adapter", .warning)?.flags == [])
        doctor = try examine("scanner: {backend: dbus}") { $0.bluetoothFacts.adapters[0].isPowered = false }
        #expect(doctor.finding("adapter", .wrong)?.flags == .authorizationRequestInProgress)
    }

    @Test func `an adapter that USB can suspend is a warning whose remedy names the file to change`() throws {
        let doctor = try examine { $0.bluetoothFacts.adapters[0].autosuspend = "/sys/x/power/control" }
        #expect(doctor.finding("adapter", .warning)?.remedy?.hasSuffix("sudo tee /sys/x/power/control") ?? false)
    }

    @Test func `a missing bluetoothd is wrong only if the backend needs it`() throws {
        let away: (inout ScriptedProbes) -> Void = { $0.busFacts.isDaemonRunning = false }
        var doctor = try examine("", away)
        #expect(!doctor.isSomethingWrong)
        #expect(
            doctor.finding("bluetoothd", .ok)?.summary == "bluetoothd does not run; the best backend does not need it")
        doctor = try examine("scanner: {backend: dbus}", away)
        #expect(doctor.finding("bluetoothd", .wrong)?.flags == .serviceUnavailable)
        #expect(doctor.finding("bluetoothd", .wrong)?.remedy == "sudo systemctl enable --now bluetooth")
        doctor = try examine {
            away(&$0)
            $0.rightsFacts.hasNetworkAdministration = false
        }
        #expect(doctor.finding("bluetoothd", .wrong) != nil)
        #expect(doctor.finding("rights", .wrong)?.flags == .authorizationDenied)
    }

    @Test func `if the bus refuses this user, the finding is authorizationDenied and ends with the bus error`() throws {
        let doctor = try examine("scanner: {backend: dbus}") { $0.busFacts.refusal = "AccessDenied" }
        #expect(doctor.finding("dbus", .wrong)?.flags == .authorizationDenied)
        #expect(doctor.finding("dbus", .wrong)?.summary.hasSuffix("AccessDenied") ?? false)
    }

    @Test(arguments: [("management", false), ("hci", false), ("dbus", true)])
    func `management and hci need a capability, dbus does not`(backend: String, isOpen: Bool) throws {
        let doctor = try examine("scanner: {backend: \(backend)}") { $0.rightsFacts.hasNetworkAdministration = false }
        #expect((doctor.finding("rights", .wrong) == nil) == isOpen)
        #expect(doctor.flags == (isOpen ? [] : .authorizationDenied))
    }

    @Test func `if only dbus can be used, a warning reports accuracyLimited`() throws {
        let doctor = try examine { $0.rightsFacts.hasNetworkAdministration = false }
        #expect(doctor.finding("rights", .warning)?.flags == .accuracyLimited)
        #expect(!doctor.isSomethingWrong)
    }

    @Test func `conditions beyond the limit, and circles without a source, are warnings`() throws {
        let text = """
            monitor: {condition_limit: 1}
            conditions:
              - {identifier: a, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}
              - {identifier: b, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, major: 1}
              - {identifier: c, center: [48, 16], radius: 10}
            """
        let parsed = Configuration.parse(Array(text.utf8), file: "test.yaml", deafAfterUnlessSet: .seconds(10))
        let doctor = Doctor(try parsed.get(), probes: ScriptedProbes())
        #expect(doctor.finding("conditions", .warning)?.flags == .conditionLimitExceeded)
        #expect(doctor.finding("conditions", .warning)?.summary == "1 of 2 beacon conditions is not monitored")
        #expect(doctor.finding("location", .warning)?.flags == .conditionUnsupported)
    }

    @Test func `an unreachable gpsd is wrong only if circles are monitored`() throws {
        let circle = "conditions: [{identifier: c, center: [48, 16], radius: 10}]\nlocation: {source: gpsd}"
        var probes = ScriptedProbes()
        probes.unreachable[2947] = "Connection refused"
        let parsed = Configuration.parse(Array(circle.utf8), file: "test.yaml", deafAfterUnlessSet: nil)
        let doctor = Doctor(try parsed.get(), probes: probes)
        #expect(doctor.finding("location", .wrong)?.flags == .locationUnavailable)
        #expect(
            try examine("location: {source: gpsd}") { $0.unreachable[2947] = "x" }.finding("location", .wrong) == nil)
    }

    private static let rooms: [(Int64, DoctorFinding.State)] = [
        (1_099_511_627_776, .ok), (2_147_483_648, .ok), (2_147_483_647, .warning), (16_777_216, .warning),
        (16_777_215, .wrong), (0, .wrong),
    ]

    @Test func `f2fs that stores small files in their inodes is a warning with a remedy`() throws {
        let found = try examine {
            $0.directories["/var/lib/beacon-gateway/events"] = DoctorFacts.Directory(
                exists: true, free: 1 << 40, isInlineF2FS: true)
        }
        let finding = try #require(found.findings.first { $0.check == "disk" && $0.state == .warning })
        #expect(finding.summary.contains("f2fs"))
        #expect(finding.remedy?.contains("noinline_data") == true)
    }

    @Test(arguments: [
        ("rw,lazytime,background_gc=on,inline_xattr,inline_data,inline_dentry", true),
        ("rw,lazytime,noinline_data,inline_dentry", false),
    ])
    func `f2fs stores small files in inodes unless noinline_data is set`(options: String, isInline: Bool) {
        let table = """
            22 27 0:20 / /sys rw,nosuid - sysfs sysfs rw
            27 1 179:2 / / rw,relatime shared:1 - ext4 /dev/root rw
            30 27 179:300 / /var/lib rw,relatime shared:9 - f2fs /dev/mmcblk0p300 \(options)

            """
        // makedev(3) of 179:300.
        #expect(MountTable.hasInlineF2FS(table, device: 179 << 8 | 300 & 0xFF | (300 & ~0xFF) << 12) == isInline)
        #expect(!MountTable.hasInlineF2FS(table, device: 179 << 8 | 2))
        #expect(!MountTable.hasInlineF2FS("30 27\n- - -\n\n", device: 179 << 8 | 2))
    }

    @Test(arguments: rooms)
    func `free disk space: a warning below 2 GiB, wrong below 16 MiB`(free: Int64, state: DoctorFinding.State) throws {
        let doctor = try examine {
            $0.directories["/var/lib/beacon-gateway/events"] = .init(exists: true, free: free)
        }
        let finding = try #require(doctor.findings.first { $0.summary.hasPrefix("/var/lib/beacon-gateway/events") })
        #expect(finding.state == state)
        #expect(finding.flags == (state == .wrong ? .persistenceUnavailable : []))
    }

    @Test func `a wall clock that was not set is only a warning, because the order of events is right`() throws {
        let doctor = try examine { $0.clock = false }
        #expect(doctor.finding("clock", .warning)?.flags == .clockUnsynchronized)
        #expect(!doctor.isSomethingWrong)
    }

    @Test func `each flag of the running gateway is a finding with a remedy`() throws {
        let all = Diagnostics(rawValue: (1 << UInt32(Diagnostics.names.count)) - 1)
        let doctor = try examine { $0.daemonFacts.diagnostics = all }
        let said = doctor.findings.filter { $0.check == "daemon" }
        #expect(said.count == Diagnostics.names.count)
        #expect(doctor.flags == all)
        #expect(said.allSatisfy { $0.remedy != nil })
    }

    @Test func `a condition with a reversed UUID is a warning with the right UUID as remedy`() throws {
        let received = try #require(ProximityUUID("F7826DA6-4FA2-4E98-8024-BC5B71E0893E"))
        let doctor = try examine {
            $0.daemonFacts.reversedUUIDs = [ReversedUUID(identifier: "badge", received: received)]
        }
        let finding = try #require(doctor.finding("conditions", .warning))
        #expect(
            finding.summary.hasPrefix(
                "received beacons with the UUID \(received) match no condition; the uuid of condition badge"))
        #expect(finding.remedy == "if these beacons are meant, set the uuid of badge to \(received)")
        #expect(!doctor.isSomethingWrong)
    }

    @Test func `the valid reversed UUIDs of a status are read, whatever its other texts are`() throws {
        let status =
            #"{"gateway":"\"reversedUUIDs\":[","reversedUUIDs":[{"identifier":"a]\"}","received":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E"},"#
            + #"{"identifier":"b"},{"identifier":"c","received":"x"},7]}"#
        let received = try #require(ProximityUUID("F7826DA6-4FA2-4E98-8024-BC5B71E0893E"))
        #expect(Status.reversedUUIDs(in: Array(status.utf8)) == [ReversedUUID(identifier: "a]\"}", received: received)])
        for text in ["", "{}", "[]", "7", #"{"reversedUUIDs":7}"#, #"{"reversedUUIDs":[{"identifier":"a"}"#] {
            #expect(Status.reversedUUIDs(in: Array(text.utf8)) == [])
        }
    }

    @Test func `the JSON output is one object on one line`() throws {
        let doctor = try examine {
            $0.bluetoothFacts.switches[0] = .init(name: #"a"b"#, isSoftBlocked: true, isHardBlocked: false)
        }
        #expect(doctor.json.hasSuffix("}\n") && doctor.json.count { $0 == "\n" } == 1)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(doctor.json.utf8)) as? [String: Any])
        #expect(object["ok"] as? Bool == false)
        #expect(object["type"] as? String == "doctor")
        let findings = try #require(object["findings"] as? [[String: Any]])
        let rfkill = try #require(findings.first { $0["check"] as? String == "rfkill" })
        #expect(rfkill["summary"] as? String == #"rfkill blocks a"b"#)
        #expect(rfkill["flags"] as? [String] == ["authorizationDeniedGlobally"])
        #expect(findings.count == doctor.findings.count)
    }

    @Test func `an invalid configuration is a finding, and the machine is examined nevertheless`() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(
            "doctor-\(UInt32.random(in: 0 ... .max)).yaml")
        try Data("conditions: 7\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let doctor = Doctor(configuration: file.path, isDefault: false, probes: ScriptedProbes())
        #expect(doctor.finding("configuration", .wrong)?.remedy == "beacon-gateway check \(file.path)")
        #expect(doctor.finding("kernel", .ok) != nil)
    }

    @Test func `the remedy for a missing file names only files that exist`() throws {
        var probes = ScriptedProbes()
        probes.sample = "/usr/share/doc/beacon-gateway/gateway.yaml"
        func remedy(_ path: String, isDefault: Bool) -> String? {
            Doctor(configuration: path, isDefault: isDefault, probes: probes).finding("configuration", .wrong)?.remedy
        }
        #expect(
            remedy("/nonexistent.yaml", isDefault: true)
                == "sudo install -D -m 644 /usr/share/doc/beacon-gateway/gateway.yaml /nonexistent.yaml, and edit it")
        probes.sample = nil
        let made = try #require(remedy("/nonexistent.yaml", isDefault: true))
        let text = try #require(made.split(separator: ": ", maxSplits: 1).last)
        #expect(made.hasPrefix("create it with at least one condition: ") && !made.contains("/"))
        #expect(throws: Never.self) { try Configuration.parse(Array(text.utf8), file: "g.yaml").get() }
        #expect(remedy("/nonexistent.yaml", isDefault: false) == "name a file that exists with --config")
        let track = try examine(
            "location: {source: gpx, file: /t.gpx}\nmonitors: [{name: m, conditions: "
                + "[{identifier: c, center: [1, 2], radius: 9}]}]", conditions: ""
        ) { $0.unreadable["/t.gpx"] = .noSuchFileOrDirectory }
        #expect(track.finding("location", .wrong)?.remedy == "copy the track there, or set location.file")
        let stopped = try examine {
            $0.daemonFacts = .init(isRunning: false)
            $0.daemonFacts.isInstalled = false
        }
        #expect(
            stopped.finding("daemon", .warning)?.remedy
                == "no unit is installed; in a terminal: beacon-gateway run --config /etc/beacon-gateway/gateway.yaml")
    }

    @Test func `doctor reads the names of beacons, and warns of names without effect`() throws {
        let scratch = try Scratch()
        let file = try scratch.write(
            "g.yaml",
            "beacons: {file: b.csv}\nconditions: [{identifier: a, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]\n")
        func finding() -> DoctorFinding? {
            Doctor(configuration: file, isDefault: true, probes: ScriptedProbes()).findings.first
        }
        let unread = try #require(finding())
        // The rest is examined with the configuration nevertheless.
        let doctor = Doctor(configuration: file, isDefault: true, probes: ScriptedProbes())
        #expect(doctor.configuration?.monitors.count == 1)
        #expect(
            unread.state == .wrong && unread.summary.contains("b.csv")
                && unread.remedy == "beacon-gateway check \(file)")
        _ = try scratch.write("b.csv", "major,minor,name\n1,2,Ada\n")
        let warned = try #require(finding())
        #expect(warned.state == .warning && warned.summary.contains("no condition has per_beacon"))
    }
}
