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
