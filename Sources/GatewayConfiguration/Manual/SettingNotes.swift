import BeaconMonitoring
import BluetoothLE

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

extension MonitoringKey {
    var note: SettingNote {
        switch self {
        case .name: SettingNote(.text("name"), .value("site"), "What the monitor is called.")
        case .outageTimeout:
            SettingNote(
                .duration(SettingBounds.duration), .value("60s"),
                "How long all adapters that still held a beacon must be out of order for its state to become `unknown` (rule "
                    + "L2): above `deaf_after`, and at least every `enter_window`.")
        case .deafAfter:
            SettingNote(
                .duration(SettingBounds.duration, word: "off"), .words("`10s`; in a replay `off`"),
                "After how much silence of everything around an adapter is taken not to listen (rule L5). `off`, never, is for "
                    + "places where nothing else advertises; a canary is better there.")
        case .forgetAfter:
            SettingNote(
                .duration(SettingBounds.duration), .value("1d"),
                "How long after it stopped an adapter still counts for what it held (rule L3); above `outage_timeout`.")
        case .conditionLimit:
            SettingNote(
                .integer(SettingLimits.conditionLimit), .value("0"),
                "How many conditions are monitored, over all monitors; 0: all. Those beyond are `unmonitored` (rule C4)."
            )
        case .maxBeacons:
            SettingNote(
                .integer(SettingLimits.maxBeacons), .value("10000"),
                "How many beacons under conditions with `per_beacon` are followed, over all monitors (rule P2). Those that "
                    + "have a name never lose their place to others.")
        case .maxNewBeacons:
            SettingNote(
                .integer(SettingLimits.maxNewBeacons), .words("`2000`; in a replay `0`"),
                "How many beacons without a name may enter in a row, over all monitors, each under each condition with "
                    + "`per_beacon`; one more every 2 s. 0: any number. What invented beacons can write is bounded by it "
                    + "(rule P5).")
        case .conditions: SettingNote(.structure("list of maps"), .required, "The monitor's own conditions.")
        case .exitTimeout, .enterCount, .enterWindow, .enterRSSI, .exitRSSI, .perBeacon, .unnamed, .ranging: howNote
        case .identifier, .uuid, .major, .minor, .center, .radius, .assuming: whatNote
        }
    }

    /// How a condition is entered and left: a monitor's, and overridden by its conditions'.
    private var howNote: SettingNote {
        switch self {
        case .exitTimeout:
            SettingNote(
                .duration(SettingBounds.duration), .value("30s"),
                "How long a beacon must be silent to count as gone (rule X2): several of its advertising intervals at least, "
                    + "and more than `deaf_after`.")
        case .enterCount:
            SettingNote(
                .integer(SettingBounds.enterCount), .value("1"), "How many sightings it takes to enter (rule E1).")
        case .enterWindow:
            SettingNote(
                .duration(SettingBounds.duration), .value("10s"),
                "Within how much time they must be (rule E1); at most `outage_timeout`.")
        case .enterRSSI:
            SettingNote(
                .integer(RSSI.settingRange, unit: "dBm"), .words("any counts"),
                "How strong a sighting must be to count for entering (rule E2).")
        case .exitRSSI:
            SettingNote(
                .integer(RSSI.settingRange, unit: "dBm"), .words("any counts"),
                "How strong a sighting must be to count for staying (rule X1); needs an `enter_rssi` that is not below it."
            )
        case .perBeacon:
            SettingNote(
                .flag, .value("false"),
                "Whether each beacon under a condition has events and visits of its own (rule P1).")
        case .unnamed:
            SettingNote(
                .choice(Strangers.allCases.map(\.rawValue)), .value("track"),
                "How a beacon without a name is handled under a condition with `per_beacon` (rule P4). `track`: like any other; "
                    + "`ignore`: it has no events and visits, but counts for the condition; `refuse`: its sightings are not "
                    + "used. The former name of the setting, `strangers`, also works.")
        default:
            SettingNote(
                .flag, .value("false"),
                "Whether the beacons in view are listed once a second, with distances: a line a second of each condition that "
                    + "has any in view, some 130 octets for each of them.")
        }
    }

    /// What a condition is.
    private var whatNote: SettingNote {
        switch self {
        case .identifier: SettingNote(.text("name"), .required, "What the condition is called, unique in the file.")
        case .uuid:
            SettingNote(.text("UUID"), .words("the condition is a circle"), "The UUID of the beacons that satisfy it.")
        case .major: SettingNote(.integer(SettingLimits.major), .words("any"), "Their major.")
        case .minor: SettingNote(.integer(SettingLimits.major), .words("any"), "Their minor; needs a `major`.")
        case .center:
            SettingNote(
                .structure("list of two numbers, −90…90 and −180…180 degrees"),
                .words("the condition is about beacons"),
                "A circle's center, latitude and longitude (WGS 84).")
        case .radius:
            SettingNote(
                .text("metres, above 0"), .words("the condition is about beacons"),
                "A circle's radius; gpsd can rarely tell less than 20 m apart.")
        default:
            SettingNote(
                .choice(Reader.Assumption.allCases.map(\.rawValue)), .value("unknown"),
                "The state that it starts from (rule C1).")
        }
    }
}

extension BeaconsKey {
    var note: SettingNote {
        switch self {
        case .uuid:
            SettingNote(
                .text("UUID"), .words("the one that all conditions have, where they have one"), "The beacon's UUID.")
        case .major: SettingNote(.integer(SettingLimits.major), .required, "Its major.")
        case .minor: SettingNote(.integer(SettingLimits.major), .required, "Its minor.")
        case .name:
            SettingNote(
                .text("1 to 128 octets without control characters"), .required, "What it, or who carries it, is called."
            )
        case .group:
            SettingNote(
                .text("1 to 128 octets without control characters"), .words("none"), "What it is counted among.")
        case .file:
            SettingNote(
                .text("path, absolute or from the configuration's folder"), .words("the list"),
                "In place of the list a table as spreadsheets write it (CSV, UTF-8, comma or semicolon), read again at a reload. "
                    + "Its first row names the columns `uuid`, `major`, `minor`, `name` and `group` in any order; more are passed "
                    + "over.")
        }
    }
}

extension OutputKey {
    var note: SettingNote {
        switch self {
        case .directory:
            SettingNote(
                .path(lengthMost: SettingLimits.pathOctets), .value(OutputConfiguration().directory),
                "The folder of the event files.")
        case .stateDirectory:
            SettingNote(
                .path(lengthMost: SettingLimits.pathOctets), .value(OutputConfiguration().stateDirectory),
                "The folder of records and locks.")
        case .statusSocket:
            SettingNote(
                .path(lengthMost: SettingLimits.socketPathOctets), .value(OutputConfiguration().statusSocket),
                "The socket that `beacon-gateway status` asks.")
        case .envelope:
            SettingNote(
                .flag, .value("true"),
                "Whether a line is an envelope with topic, qos and retain; `false`: the payload alone, for `mosquitto_pub -l`."
            )
        case .rotateSize:
            SettingNote(
                .size(SettingLimits.rotateSize), .value("64MiB"), "How large a file grows before the next begins.")
        case .rotateInterval:
            SettingNote(
                .duration(SettingLimits.rotateInterval), .value("1d"), "How old a file grows before the next begins.")
        case .retain: SettingNote(.duration(SettingLimits.retain), .value("30d"), "How long files are kept.")
        case .retainSize:
            SettingNote(
                .size(SettingLimits.retainSize), .value("2GiB"),
                "How much all files may take, at least `rotate_size`: the oldest goes first.")
        case .durability:
            SettingNote(
                .duration(SettingLimits.durability, word: "event"), .value("event"),
                "`event`: every event is on the disk before it counts; a duration: at most that much is at risk when the power "
                    + "fails, and the SD card is spared.")
        }
    }
}

extension MQTTKey {
    var note: SettingNote {
        switch self {
        case .host: SettingNote(.text("host name or address"), .required, "The broker's name or address.")
        case .port:
            SettingNote(.integer(SettingLimits.port), .words("`8883` with TLS, `1883` without"), "Its TCP port.")
        case .tls:
            SettingNote(
                .structure("`true`, `false`, or a map"), .value("false"),
                "`true`: TLS, the broker vouched for by the system's certificate authorities; `false`: none; or the map below, "
                    + "which is TLS too.")
        case .username: SettingNote(.text("1 to 255 octets"), .words("nobody logs in"), "Who logs in.")
        case .passwordFile:
            SettingNote(
                .path(lengthMost: SettingLimits.pathOctets),
                .words("`mqtt.password` in systemd's credentials directory, where there is one"),
                "The file that holds the password, in its first line; needs a `username`. The password itself never stands in "
                    + "the configuration.")
        case .prefix:
            SettingNote(
                .text("topic levels, without `+` and `#`"), .value("beacons"),
                "The first level, or levels, of every topic.")
        case .homeAssistant:
            SettingNote(.flag, .value("false"), "Whether Home Assistant is told of the conditions (MQTT discovery).")
        case .homeAssistantPrefix:
            SettingNote(
                .text("topic levels, without `+` and `#`"), .value("homeassistant"),
                "Where Home Assistant looks for that.")
        case .homeAssistantTrackers:
            SettingNote(
                .choice(["state", "zones"]), .value("state"),
                "How Home Assistant is told where a beacon is. `state`: by a state topic, which every version reads; `zones`: by "
                    + "zones alone, for a version that warns of state topics.")
        case .beaconNames:
            SettingNote(
                .flag, .value("false"),
                "Whether the broker, and with it Home Assistant, is told what beacons are called (`beacons`): whoever may read "
                    + "the retained topics then knows who is who. Lines never have names.")
        case .clientID:
            SettingNote(.text("1 to 255 octets"), .words("made of the gateway's name"), "The MQTT client identifier.")
        case .keepAlive:
            SettingNote(
                .duration(SettingLimits.keepAlive, isWhole: true), .value("60s"),
                "How long the connection may be silent.")
        case .messageExpiry:
            SettingNote(
                .duration(SettingLimits.messageExpiry, isWhole: true), .words("as long as the broker itself does"),
                "How long the broker keeps an event for a subscriber that is away; MQTT 5 alone.")
        case .version:
            SettingNote(
                .choice(MQTTConfiguration.Version.allCases.map(\.rawValue)), .value("auto"),
                "Which version of MQTT is spoken. `auto`: 5, and 3.1.1 with a broker that refuses 5 or has never been heard to "
                    + "speak it. In 3.1.1 a broker can't say that it denies a topic: what goes there is lost.")
        }
    }
}

extension ServeKey {
    var note: SettingNote {
        switch self {
        case .address:
            SettingNote(
                .text("address"), .value(ServeConfiguration().address),
                "The address that is listened at. Beyond this machine only with `tls` and `users_file`, or with a `trusted_proxy`."
            )
        case .port: SettingNote(.integer(SettingLimits.port), .value("\(ServeConfiguration().port)"), "The TCP port.")
        case .hostName:
            SettingNote(
                .text("host name"), .words("addresses and `localhost` alone"),
                "The name that browsers ask by, which the certificate has too; any other name is refused.")
        case .tls: SettingNote(.structure("map"), .words("HTTP as it is"), "TLS, with these files.")
        case .usersFile:
            SettingNote(
                .path(lengthMost: SettingLimits.pathOctets), .words("nobody is asked for a name"),
                "Who may look: lines `NAME:HASH`, as `mkpasswd -m yescrypt` makes hashes.")
        case .trustedProxy:
            SettingNote(
                .text("address"), .words("any address may connect"),
                "The address of the proxy that alone may connect. Who may look is for it to decide, and so is TLS.")
        case .cacheDirectory:
            SettingNote(
                .path(lengthMost: SettingLimits.pathOctets), .value(ServeConfiguration().cacheDirectory),
                "Where it keeps what event files that are over come to, so that it need not read them all when it starts; one that is not there, or can't be written to, keeps nothing."
            )
        }
    }
}

extension ServeTLSKey {
    var note: SettingNote {
        switch self {
        case .certificateFile:
            SettingNote(
                .path(lengthMost: SettingLimits.pathOctets), .required,
                "The certificate, with those between it and its authority behind it, PEM.")
        case .keyFile:
            SettingNote(
                .path(lengthMost: SettingLimits.pathOctets), .required, "The key to it, PEM, without a password.")
        }
    }
}

extension TLSKey {
    var note: SettingNote {
        switch self {
        case .caFile:
            SettingNote(
                .path(lengthMost: SettingLimits.pathOctets), .words("the system's"),
                "A PEM file with certificate authorities.")
        case .caDirectory:
            SettingNote(
                .path(lengthMost: SettingLimits.pathOctets), .words("the system's"),
                "A folder of such, prepared by `openssl rehash`.")
        case .certificateFile:
            SettingNote(
                .path(lengthMost: SettingLimits.pathOctets), .words("none"),
                "This gateway's own certificate, PEM; with `key_file` or not at all.")
        case .keyFile:
            SettingNote(.path(lengthMost: SettingLimits.pathOctets), .words("none"), "The key to it, PEM.")
        case .serverName:
            SettingNote(
                .text("host name or address"), .words("`host`"), "The name that the broker's certificate must have.")
        }
    }
}
