import BeaconMonitoring
import BluetoothLE

extension RootKey {
    var note: SettingNote {
        switch self {
        case .gateway:
            SettingNote(.structure("map"), .words("the defaults of its settings"), "The name of the gateway.")
        case .scanner:
            SettingNote(.structure("map"), .words("the defaults of its settings"), "How the gateway scans.")
        case .location:
            SettingNote(
                .structure("map"), .words("circles are unmonitored"), "The source of the gateway's position.")
        case .ranging:
            SettingNote(.structure("map"), .words("the defaults of its settings"), "How distances are estimated.")
        case .monitor:
            SettingNote(
                .structure("map"), .words("the defaults of its settings"),
                "Settings of the monitor, and defaults of its conditions.")
        case .monitors:
            SettingNote(
                .structure("list of maps"), .words("one monitor"),
                "Several monitors, instead of `monitor` and `conditions`.")
        case .output: SettingNote(.structure("map"), .words("the defaults of its settings"), "The event files.")
        case .mqtt: SettingNote(.structure("map"), .words("files only"), "The MQTT broker.")
        case .serve:
            SettingNote(
                .structure("map"), .words("the defaults of its settings"), "The web server `beacon-gateway serve`.")
        case .conditions:
            SettingNote(
                .structure("list of maps"), .required, "The conditions to monitor; not together with `monitors`.")
        case .beacons: SettingNote(.structure("list of maps, or a map"), .words("none"), "The names of beacons.")
        }
    }
}

extension GatewayKey {
    var note: SettingNote {
        SettingNote(
            .text("name"), .words("the host name; in a replay `replay`"),
            "The name of this gateway. It is the second level of each topic.")
    }
}

extension ScannerKey {
    var note: SettingNote {
        switch self {
        case .backend:
            SettingNote(
                .choice(ScannerConfiguration.Backend.allCases.map(\.rawValue)), .value("auto"),
                "`management`: the kernel's management socket; `dbus`: bluetoothd; `hci`: the raw HCI channel; `auto`: the "
                    + "best backend for which this user has the permissions.")
        case .adapters:
            SettingNote(
                .structure("list of at most \(SettingLimits.adaptersMost) names and addresses"), .words("all"),
                "The adapters to use: the kernel's current name of an adapter (`hci0`), or its address "
                    + "(`00:1A:7D:DA:71:13`), which stays the same if the kernel gives it another name.")
        case .mode:
            SettingNote(
                .choice(ScannerConfiguration.Mode.allCases.map(\.rawValue)), .value("auto"),
                "`passive`: passive scanning; `active`: active scanning, which requests scan responses from advertisers; "
                    + "`low_power`: passive scanning for a part of the time (`duty_cycle`); `auto`: the best mode of the backend."
            )
        case .dutyCycle:
            SettingNote(
                .number(SettingLimits.dutyCycle), .value("0.1"),
                "The part of the time in which the adapter scans, only with `low_power`: 60 ms of each 600 ms is 0.1. "
                    + "Advertisements are missed, so each `exit_timeout` should be longer by the factor 1/`duty_cycle`. `duty_cycle` has "
                    + "no effect with the backend `dbus`.")
        case .latency:
            SettingNote(
                .duration(SettingLimits.latency), .value("100ms"),
                "How long a report can stay in the kernel's buffer if no deadline is earlier. A longer time means fewer "
                    + "wake-ups. It changes neither the dates of events, because reports have the kernel's times, nor when "
                    + "deadlines are handled. With `dbus`, whose reports have no times, at most 20 ms.")
        case .canary: SettingNote(.structure("map"), .words("none"), "A beacon that is always in range.")
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
                    + "the gateway.")
        case .host: SettingNote(.text("host name or address"), .value("localhost"), "The host of gpsd.")
        case .port: SettingNote(.integer(SettingLimits.port), .value("2947"), "The TCP port of gpsd.")
        case .file:
            SettingNote(.path(lengthMost: SettingLimits.pathBytes), .required, "The GPX file; only with `gpx`.")
        case .speed:
            SettingNote(
                .number(SettingLimits.factor), .value("1"),
                "The playback speed: 1 is the recorded speed, 2 is twice as fast; only with `gpx`.")
        case .loop: SettingNote(.flag, .value("false"), "Whether the file starts again after its end; only with `gpx`.")
        case .pace:
            SettingNote(
                .number(SettingLimits.factor, unit: "metres per second"),
                .words("none; required for a file without times"),
                "The speed along the track of a file without times; only with `gpx`.")
        }
    }
}

extension RangingKey {
    var note: SettingNote {
        switch self {
        case .model:
            SettingNote(
                .choice(Reader.Model.allCases.map(\.rawValue)), .value("path_loss"),
                "`path_loss`: RSSI decreases by 10 times `exponent` dB if the distance is ten times larger; `curve_fit`: the "
                    + "curve of the AltBeacon project, fitted to one receiver.")
        case .exponent:
            SettingNote(
                .number(DistanceModel.exponentRange), .value("2"),
                "The path loss exponent, only with `path_loss`: 2 in free space, 1.6 to 1.8 along a line of sight in buildings, "
                    + "2 to 3 in factories, 4 to 6 through walls.")
        case .coefficients:
            SettingNote(
                .structure("list of three numbers, −100…100 each"),
                .words("`[0.42093, 6.9476, 0.54992]` of the Nexus 5"),
                "The coefficients of the curve; only with `curve_fit`.")
        case .window:
            SettingNote(
                .duration(Reader.rangingWindow, isWhole: true), .value("5s"),
                "The time over which RSSI is averaged, and for which a beacon stays in the ranging list after its last sighting."
            )
        }
    }
}

extension MonitoringKey {
    var note: SettingNote {
        switch self {
        case .name: SettingNote(.text("name"), .value("site"), "The name of the monitor.")
        case .outageTimeout:
            SettingNote(
                .duration(SettingBounds.duration), .value("60s"),
                "If none of the adapters that still hold a beacon has scanned for this time, the state of the beacon becomes "
                    + "`unknown` (rule L2). "
                    + "Must be above `deaf_after`, and at least as long as each `enter_window`.")
        case .deafAfter:
            SettingNote(
                .duration(SettingBounds.duration, word: "off"), .words("`10s`; in a replay `off`"),
                "An adapter that delivers no report of any kind for this time counts as out of order (rule L5). `off`: never, "
                    + "for places without other advertisers; a canary is better there.")
        case .forgetAfter:
            SettingNote(
                .duration(SettingBounds.duration), .value("1d"),
                "How long the holds of an adapter count after it stopped (rule L3). Must be above `outage_timeout`.")
        case .conditionLimit:
            SettingNote(
                .integer(SettingLimits.conditionLimit), .value("0"),
                "The largest number of conditions, over all monitors; 0: no limit. Conditions above it are `unmonitored` (rule C4)."
            )
        case .maxBeacons:
            SettingNote(
                .integer(SettingLimits.maxBeacons), .value("10000"),
                "The largest number of beacons that are tracked under conditions with `per_beacon`, over all monitors (rule P2). "
                    + "A beacon with a name never loses its place to another.")
        case .maxNewBeacons:
            SettingNote(
                .integer(SettingLimits.maxNewBeacons), .words("`2000`; in a replay `0`"),
                "How many beacons without a name can enter in a row, over all monitors, counted for each condition with "
                    + "`per_beacon`; one more every 2 s. 0: no limit. This setting limits the lines that invented beacons can cause "
                    + "(rule P5).")
        case .conditions: SettingNote(.structure("list of maps"), .required, "The monitor's own conditions.")
        case .exitTimeout, .enterCount, .enterWindow, .enterRSSI, .exitRSSI, .perBeacon, .unnamed, .ranging: howNote
        case .identifier, .uuid, .major, .minor, .center, .radius, .assuming: whatNote
        }
    }

    /// The settings for entries and exits, which a monitor has and its conditions can override.
    private var howNote: SettingNote {
        switch self {
        case .exitTimeout:
            SettingNote(
                .duration(SettingBounds.duration), .value("30s"),
                "A beacon exits after this time of scanning without a sighting (rule X2). Should be several of its advertising "
                    + "intervals, and longer than `deaf_after`; otherwise beacons exit in an outage before it is noticed."
            )
        case .enterCount:
            SettingNote(
                .integer(SettingBounds.enterCount), .value("1"),
                "The number of sightings that an entry needs (rule E1).")
        case .enterWindow:
            SettingNote(
                .duration(SettingBounds.duration), .value("10s"),
                "The time within which these sightings must be (rule E1); at most `outage_timeout`.")
        case .enterRSSI:
            SettingNote(
                .integer(RSSI.settingRange, unit: "dBm"), .words("any counts"),
                "The minimum RSSI of a sighting that counts for an entry (rule E2).")
        case .exitRSSI:
            SettingNote(
                .integer(RSSI.settingRange, unit: "dBm"), .words("any counts"),
                "The minimum RSSI of a sighting that prevents an exit (rule X1); needs an `enter_rssi` that is not below it."
            )
        case .perBeacon:
            SettingNote(
                .flag, .value("false"),
                "Whether each beacon of a condition has its own events and visits (rule P1).")
        case .unnamed:
            SettingNote(
                .choice(UnnamedBeacons.allCases.map(\.rawValue)), .value("track"),
                "How a beacon without a name is handled under a condition with `per_beacon` (rule P4). `track`: like any other; "
                    + "`ignore`: it has no events and visits, but counts for the condition; `refuse`: its sightings are not "
                    + "used. The former name of the setting, `strangers`, also works.")
        default:
            SettingNote(
                .flag, .value("false"),
                "Whether the beacons in range are listed once a second, with distances: one line per second for each condition "
                    + "with beacons in range, about 130 bytes for each beacon.")
        }
    }

    /// The settings that define a condition.
    private var whatNote: SettingNote {
        switch self {
        case .identifier: SettingNote(.text("name"), .required, "The name of the condition, unique in the file.")
        case .uuid:
            SettingNote(
                .text("UUID"), .words("the condition is a circle"),
                "The UUID of the beacons that satisfy the condition.")
        case .major: SettingNote(.integer(SettingLimits.major), .words("any"), "Their major.")
        case .minor: SettingNote(.integer(SettingLimits.major), .words("any"), "Their minor; needs a `major`.")
        case .center:
            SettingNote(
                .structure("list of two numbers, −90…90 and −180…180 degrees"),
                .words("the condition is about beacons"),
                "The center of a circle: latitude and longitude (WGS 84).")
        case .radius:
            SettingNote(
                .text("metres, above 0"), .words("the condition is about beacons"),
                "The radius of a circle; gpsd is rarely more exact than 20 m.")
        default:
            SettingNote(
                .choice(Reader.Assumption.allCases.map(\.rawValue)), .value("unknown"),
                "The state at the start (rule C1).")
        }
    }
}

extension BeaconsKey {
    var note: SettingNote {
        switch self {
        case .uuid:
            SettingNote(
                .text("UUID"), .words("the UUID of all conditions, if they have the same"), "The beacon's UUID.")
        case .major: SettingNote(.integer(SettingLimits.major), .required, "Its major.")
        case .minor: SettingNote(.integer(SettingLimits.major), .required, "Its minor.")
        case .name:
            SettingNote(
                .text("1 to 128 bytes without control characters"), .required,
                "The name of the beacon, or of the person who carries it."
            )
        case .group:
            SettingNote(
                .text("1 to 128 bytes without control characters"), .words("none"), "The group for reports.")
        case .file:
            SettingNote(
                .text("path, absolute or from the configuration's folder"), .words("the list"),
                "Instead of the list: a table from a spreadsheet (CSV in UTF-8, separated by commas, semicolons or tabs), which is read again at a reload. "
                    + "Its first row must have the columns `major`, `minor` and `name`, and can have `uuid` and `group`, in any order; "
                    + "other columns are ignored.")
        }
    }
}

extension OutputKey {
    var note: SettingNote {
        switch self {
        case .directory:
            SettingNote(
                .path(lengthMost: SettingLimits.pathBytes), .value(OutputConfiguration().directory),
                "The folder of the event files.")
        case .stateDirectory:
            SettingNote(
                .path(lengthMost: SettingLimits.pathBytes), .value(OutputConfiguration().stateDirectory),
                "The folder of records (the state of conditions) and locks.")
        case .statusSocket:
            SettingNote(
                .path(lengthMost: SettingLimits.socketPathBytes), .value(OutputConfiguration().statusSocket),
                "The socket for `beacon-gateway status`.")
        case .envelope:
            SettingNote(
                .flag, .value("true"),
                "Whether a line is an envelope with topic, qos and retain; `false`: only the payload, for `mosquitto_pub -l`."
            )
        case .rotateSize:
            SettingNote(
                .size(SettingLimits.rotateSize), .value("64MiB"), "The size at which the next file starts.")
        case .rotateInterval:
            SettingNote(
                .duration(SettingLimits.rotateInterval), .value("1d"), "The age at which the next file starts.")
        case .retain: SettingNote(.duration(SettingLimits.retain), .value("30d"), "How long files are kept.")
        case .retainSize:
            SettingNote(
                .size(SettingLimits.retainSize), .value("2GiB"),
                "The largest size of all files together, at least `rotate_size`; the oldest file is deleted first.")
        case .durability:
            SettingNote(
                .duration(SettingLimits.durability, word: "event"), .value("event"),
                "`event`: each event is on the disk before it counts; a duration: a power failure can lose the events of this time "
                    + "at most, and the SD card wears less.")
        }
    }
}

extension MQTTKey {
    var note: SettingNote {
        switch self {
        case .host: SettingNote(.text("host name or address"), .required, "The name or address of the broker.")
        case .port:
            SettingNote(
                .integer(SettingLimits.port), .words("`8883` with TLS, `1883` without"), "The TCP port of the broker.")
        case .tls:
            SettingNote(
                .structure("`true`, `false`, or a map"), .value("false"),
                "`true`: TLS with the certificate authorities of the system; `false`: no TLS; a map: TLS with the settings "
                    + "below.")
        case .username: SettingNote(.text("1 to 255 bytes"), .words("no login"), "The user name for the broker.")
        case .passwordFile:
            SettingNote(
                .path(lengthMost: SettingLimits.pathBytes),
                .words("`mqtt.password` in systemd's credentials directory, if it exists"),
                "A file with the password in its first line; needs a `username`. The configuration never contains the "
                    + "password itself.")
        case .prefix:
            SettingNote(
                .text("topic levels, without `+` and `#`"), .value("beacons"),
                "The first level or levels of each topic.")
        case .homeAssistant:
            SettingNote(.flag, .value("false"), "Whether conditions are announced to Home Assistant (MQTT discovery).")
        case .homeAssistantPrefix:
            SettingNote(
                .text("topic levels, without `+` and `#`"), .value("homeassistant"),
                "The discovery prefix of Home Assistant.")
        case .homeAssistantTrackers:
            SettingNote(
                .choice(["state", "zones"]), .value("state"),
                "How the place of a beacon is sent to Home Assistant. `state`: by a state topic, which every version reads; "
                    + "`zones`: only by zones, for a version that warns about state topics.")
        case .beaconNames:
            SettingNote(
                .flag, .value("false"),
                "Whether the names of beacons (`beacons`) are sent to the broker, and so to Home Assistant. All clients that can read "
                    + "the retained topics then see the names. Lines never have names.")
        case .clientID:
            SettingNote(
                .text("1 to 255 bytes"), .words("derived from the gateway's name"), "The MQTT client identifier.")
        case .keepAlive:
            SettingNote(
                .duration(SettingLimits.keepAlive, isWhole: true), .value("60s"),
                "The MQTT keep-alive time.")
        case .messageExpiry:
            SettingNote(
                .duration(SettingLimits.messageExpiry, isWhole: true), .words("the limit of the broker"),
                "How long the broker keeps an event for a subscriber that is not connected; only MQTT 5.")
        case .version:
            SettingNote(
                .choice(MQTTConfiguration.Version.allCases.map(\.rawValue)), .value("auto"),
                "The version of MQTT. `auto`: 5 first; 3.1.1 if the broker rejects 5, or if a broker that has never "
                    + "accepted 5 does not answer. In 3.1.1, a broker can't report that it denies a topic: messages to this topic "
                    + "are lost.")
        }
    }
}

extension ServeKey {
    var note: SettingNote {
        switch self {
        case .address:
            SettingNote(
                .text("address"), .value(ServeConfiguration().address),
                "The address of the server. Other addresses than those of this machine's loopback need `tls` and `users_file`, or a `trusted_proxy`."
            )
        case .port: SettingNote(.integer(SettingLimits.port), .value("\(ServeConfiguration().port)"), "The TCP port.")
        case .hostName:
            SettingNote(
                .text("host name"), .words("only addresses and `localhost`"),
                "The host name of the server in requests and in its certificate, in addition to addresses and `localhost`; requests "
                    + "with any other name are rejected."
            )
        case .tls: SettingNote(.structure("map"), .words("HTTP without TLS"), "TLS with these files.")
        case .usersFile:
            SettingNote(
                .path(lengthMost: SettingLimits.pathBytes), .words("no login"),
                "The users that can log in: lines `NAME:HASH`, with hashes from `mkpasswd -m yescrypt`.")
        case .trustedProxy:
            SettingNote(
                .text("address"), .words("any address may connect"),
                "The address of a proxy; no other address can connect. The proxy is responsible for access control and TLS."
            )
        case .cacheDirectory:
            SettingNote(
                .path(lengthMost: SettingLimits.pathBytes), .value(ServeConfiguration().cacheDirectory),
                "The folder for the cached totals of closed event files, so that a start need not read all files. If it does not exist or can't be written, nothing is cached."
            )
        }
    }
}

extension ServeTLSKey {
    var note: SettingNote {
        switch self {
        case .certificateFile:
            SettingNote(
                .path(lengthMost: SettingLimits.pathBytes), .required,
                "The certificate, followed by its intermediate certificates (PEM).")
        case .keyFile:
            SettingNote(
                .path(lengthMost: SettingLimits.pathBytes), .required,
                "The key of the certificate (PEM), without a password.")
        }
    }
}

extension TLSKey {
    var note: SettingNote {
        switch self {
        case .caFile:
            SettingNote(
                .path(lengthMost: SettingLimits.pathBytes), .words("the system's"),
                "A PEM file with certificate authorities.")
        case .caDirectory:
            SettingNote(
                .path(lengthMost: SettingLimits.pathBytes), .words("the system's"),
                "A folder with certificate authorities, prepared with `openssl rehash`.")
        case .certificateFile:
            SettingNote(
                .path(lengthMost: SettingLimits.pathBytes), .words("none"),
                "The client certificate of this gateway (PEM); only together with `key_file`.")
        case .keyFile:
            SettingNote(
                .path(lengthMost: SettingLimits.pathBytes), .words("none"), "The key of the client certificate (PEM).")
        case .serverName:
            SettingNote(
                .text("host name or address"), .words("`host`"),
                "The name that the certificate of the broker must have.")
        }
    }
}
