internal import BeaconMonitoring
internal import BluetoothLE

extension RootKey {
    var note: SettingNote {
        switch self {
        case .gateway: SettingNote(.structure("map"), .words("all of its defaults"), "What the gateway is called.")
        case .scanner:
            SettingNote(.structure("map"), .words("all of its defaults"), "How advertising reports are got hold of.")
        case .location:
            SettingNote(
                .structure("map"), .words("circles are unmonitored"), "Where the gateway's position comes from.")
        case .ranging: SettingNote(.structure("map"), .words("all of its defaults"), "How distances are guessed.")
        case .monitor:
            SettingNote(.structure("map"), .words("all of its defaults"), "What holds for all conditions.")
        case .monitors:
            SettingNote(.structure("list of maps"), .words("one monitor"), "In place of `monitor` and `conditions`.")
        case .output: SettingNote(.structure("map"), .words("all of its defaults"), "Where events go.")
        case .mqtt: SettingNote(.structure("map"), .words("files only"), "The broker.")
        case .serve:
            SettingNote(
                .structure("map"), .words("all of its defaults"), "Where `beacon-gateway serve` shows who is here.")
        case .conditions:
            SettingNote(.structure("list of maps"), .required, "What is monitored; not beside `monitors`.")
        case .beacons: SettingNote(.structure("list of maps, or a map"), .words("none"), "The beacons that have names.")
        }
    }
}

extension GatewayKey {
    var note: SettingNote {
        SettingNote(
            .text("name"), .words("the host name; in a replay `replay`"),
            "What this gateway is called: the second level of every topic.")
    }
}

extension ScannerKey {
    var note: SettingNote {
        switch self {
        case .backend:
            SettingNote(
                .choice(ScannerConfiguration.Backend.allCases.map(\.rawValue)), .value("auto"),
                "`management`: the kernel's management socket; `dbus`: bluetoothd; `hci`: the raw HCI channel; `auto`: the "
                    + "best of them that this user may.")
        case .adapters:
            SettingNote(
                .structure("list of at most \(SettingLimits.adaptersMost) names and addresses"), .words("all"),
                "The adapters to use: by the name that the kernel gives one now (`hci0`), or by its address "
                    + "(`00:1A:7D:DA:71:13`), which stays its own where names change.")
        case .mode:
            SettingNote(
                .choice(ScannerConfiguration.Mode.allCases.map(\.rawValue)), .value("auto"),
                "`passive`: only listen; `active`: ask advertisers for scan responses; `low_power`: only listen, and a part "
                    + "of the time; `auto`: as the backend does best.")
        case .dutyCycle:
            SettingNote(
                .number(SettingLimits.dutyCycle), .value("0.1"),
                "How much of the time is listened, with `low_power` alone: 60 ms of each 600 ms is 0.1. Beacons are missed, "
                    + "so every `exit_timeout` must be longer by as much. Has no part in the backend `dbus`.")
        case .latency:
            SettingNote(
                .duration(SettingLimits.latency), .value("100ms"),
                "How long a report may lie in the kernel's buffer where nothing is due before: the longer, the fewer "
                    + "wake-ups. Reports have the kernel's own times, so no event's date changes by it, and what is due is on "
                    + "time. Over `dbus`, where they have none, 20 ms at most.")
        case .canary: SettingNote(.structure("map"), .words("none"), "A beacon that is always there.")
        }
    }
}

extension CanaryKey {
    var note: SettingNote {
        switch self {
        case .uuid: SettingNote(.text("UUID"), .required, "The beacon's UUID.")
        case .major: SettingNote(.integer(SettingLimits.major), .words("any"), "Its major.")
        case .minor: SettingNote(.integer(SettingLimits.major), .words("any"), "Its minor; needs a `major`.")
        }
    }
}

extension LocationKey {
    var note: SettingNote {
        switch self {
        case .source:
            SettingNote(
                .choice(Reader.LocationSource.allCases.map(\.rawValue)), .value("gpsd"),
                "`gpsd`: a gpsd, by `host` and `port`; `gpx`: a recorded track, by `file`, which is played from the start of "
                    + "the gateway on.")
        case .host: SettingNote(.text("host name or address"), .value("localhost"), "The host of gpsd.")
        case .port: SettingNote(.integer(SettingLimits.port), .value("2947"), "The TCP port of gpsd.")
        case .file:
            SettingNote(.path(lengthMost: SettingLimits.pathOctets), .required, "The GPX file, with `gpx` alone.")
        case .speed:
            SettingNote(
                .number(SettingLimits.factor), .value("1"),
                "How many times as fast the file is played, with `gpx` alone.")
        case .loop: SettingNote(.flag, .value("false"), "Whether the file begins again at its end, with `gpx` alone.")
        case .pace:
            SettingNote(
                .number(SettingLimits.factor, unit: "metres a second"), .words("none; a file without times needs one"),
                "How fast a file without times is travelled, with `gpx` alone.")
        }
    }
}

extension RangingKey {
    var note: SettingNote {
        switch self {
        case .model:
            SettingNote(
                .choice(Reader.Model.allCases.map(\.rawValue)), .value("path_loss"),
                "`path_loss`: RSSI falls by 10 times `exponent` dB for each tenfold distance; `curve_fit`: the AltBeacon "
                    + "project's curve, fitted to one receiver.")
        case .exponent:
            SettingNote(
                .number(DistanceModel.exponentRange), .value("2"),
                "The path loss exponent, with `path_loss` alone: 2 in the open, 1.6 to 1.8 along a line of sight in buildings, "
                    + "2 to 3 in factories, 4 to 6 behind walls.")
        case .coefficients:
            SettingNote(
                .structure("list of three numbers, −100…100 each"),
                .words("`[0.42093, 6.9476, 0.54992]`, the Nexus 5's"),
                "The curve's coefficients, with `curve_fit` alone.")
        case .window:
            SettingNote(
                .duration(Reader.rangingWindow, isWhole: true), .value("5s"),
                "Over how long RSSIs are averaged, and how long a beacon stays in view.")
        }
    }
}
