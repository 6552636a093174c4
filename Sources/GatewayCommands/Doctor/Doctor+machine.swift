import BeaconMonitoring
import GatewayConfiguration
import OperatorLogging
import SystemPackage

// What the configuration asks of the machine around Bluetooth.
extension Doctor {
    // Below this a day's events may not fit.
    private static let freeMin: Int64 = 16 << 20

    mutating func examineConditions() {
        guard let configuration else { return }
        let conditions = configuration.monitors.flatMap(\.conditions)
        let circles = conditions.count { if case .circle = $0.condition { true } else { false } }
        let limit = configuration.engine.conditionLimit
        // A circle that can't be evaluated takes no place (rule C5).
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
                "\(PlainText.count(circles, "circle is", "circles are")) not monitored: location names no source",
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

    mutating func examineMachine() {
        switch probes.isClockSynchronized() {
        case true?: find("clock", .ok, "the wall clock is synchronised")
        case false?:
            find(
                "clock", .warning, "the wall clock has not been set: dates may be wrong, the order of events is right",
                flags: .clockUnsynchronized, remedy: "sudo timedatectl set-ntp true; timedatectl timesync-status")
        case nil: find("clock", .warning, "the kernel does not tell whether the wall clock has been set")
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
                "\(path) (\(setting)) is on f2fs that keeps small files in their inodes: a power cut can take what fdatasync "
                    + "said was on the disk",
                remedy:
                    "sudo mount -o remount,noinline_data $(findmnt -n -o TARGET -T \(path)), and the same in /etc/fstab"
            )
        }
        guard let free = directory.free else { return find("disk", .ok, "\(path) can be written to") }
        if free < Self.freeMin {
            find(
                "disk", .wrong, "\(path) has \(Self.size(free)) left", flags: .persistenceUnavailable,
                remedy: "make room (sudo journalctl --vacuum-size=100M; sudo apt clean), or lower output.retain_size")
        } else if let retained, free < retained {
            find(
                "disk", .warning,
                "\(path) has \(Self.size(free)) left, and output.retain_size may take \(Self.size(retained))",
                remedy: "lower output.retain_size, or make room; what is there already counts towards it")
        } else {
            find(
                "disk", .ok,
                "\(path) \(directory.exists ? "can be written to" : "will be made"), with \(Self.size(free)) left")
        }
    }

    // Whole units, cut off.
    private static func size(_ octets: Int64) -> String {
        switch octets {
        case (1 << 30)...: "\(octets >> 30) GiB"
        case (1 << 20)...: "\(octets >> 20) MiB"
        case (1 << 10)...: "\(octets >> 10) KiB"
        default: "\(max(octets, 0)) octets"
        }
    }

    mutating func examineBroker() {
        guard let mqtt = configuration?.mqtt else { return }
        if let failure = probes.connectFailure(host: mqtt.host, port: mqtt.port) {
            find(
                "broker", .wrong, "the broker can't be reached: \(failure)",
                remedy: "compare mqtt.host and mqtt.port with the broker's; events wait in the files meanwhile")
        } else {
            find("broker", .ok, "the broker takes connections at \(mqtt.host):\(mqtt.port)")
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

    mutating func examineDaemon() {
        let daemon = probes.daemon(statusSocket: output.statusSocket)
        if let occupant = daemon.occupant {
            return find(
                "daemon", .wrong, "output.status_socket is \(output.statusSocket), which is \(occupant)",
                remedy: "name a path where nothing is; the gateway removes nothing but a socket that nobody listens at")
        }
        if daemon.isForbidden {
            return find(
                "daemon", .warning, "this user may not ask the gateway at \(output.statusSocket)",
                remedy: "sudo beacon-gateway doctor, or once: sudo usermod -aG beacon-gateway $USER, and log in again")
        }
        guard daemon.isRunning else {
            return find(
                "daemon", .warning, "no gateway runs with this configuration",
                remedy: daemon.isInstalled
                    ? "sudo systemctl enable --now beacon-gateway"
                    : "no unit is installed; in a terminal: beacon-gateway run --config \(path)")
        }
        if let trouble = daemon.brokerTrouble {
            let (what, remedy) = trouble.cut(at: "; ")
            find("broker", .wrong, "the gateway says: \(what)", remedy: remedy ?? "beacon-gateway status")
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
            find("daemon", state, "the gateway says \(name): \(summary)", flags: flag, remedy: remedy)
        }
    }

    // What a flag that the daemon holds means, and what to do. Those that doctor finds out by itself point there.
    private static func words(for flag: Diagnostics) -> (DoctorFinding.State, String, String) {
        switch flag {
        case .insufficientlyInUse, .serviceSessionRequired:
            (
                .wrong, "explicit service sessions are demanded and none is held",
                "hold one, or demand none"
            )
        case .scannerUnavailable:
            (
                .wrong, "an adapter that should listen does not",
                "beacon-gateway status; sudo journalctl -u beacon-gateway -n 50"
            )
        case .accuracyLimited:
            (
                .warning, "reports are thinned out",
                "give it CAP_NET_ADMIN (the unit that ships has it) and scanner.backend auto or management"
            )
        case .trackingLimitExceeded:
            (
                .warning, "more beacons under conditions than are followed",
                "name those that count (beacons), raise monitor.max_beacons or max_new_beacons, or narrow the conditions"
            )
        case .locationUnavailable: (.wrong, "circles are monitored and there is no fix", "cgps, and a view of the sky")
        case .conditionLimitExceeded, .conditionUnsupported, .clockUnsynchronized:
            (.warning, "see above", "beacon-gateway status")
        default: (.wrong, "see above", "beacon-gateway status")
        }
    }
}

extension String {
    /// What stands before and behind the last place where `mark` stands; all of it, where it does not.
    fileprivate func cut(at mark: String) -> (String, String?) {
        guard let place = ranges(of: mark).last else { return (self, nil) }
        return (String(self[..<place.lowerBound]), String(self[place.upperBound...]))
    }
}
