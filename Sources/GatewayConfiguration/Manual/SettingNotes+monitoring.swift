internal import BeaconMonitoring
internal import BluetoothLE

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
        case .exitTimeout, .enterCount, .enterWindow, .enterRSSI, .exitRSSI, .perBeacon, .strangers, .ranging: howNote
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
        case .strangers:
            SettingNote(
                .choice(Strangers.allCases.map(\.rawValue)), .value("track"),
                "What a beacon without a name is under a condition with `per_beacon` (rule P4). `track`: like any other; "
                    + "`ignore`: nobody of its own, though it counts for the condition; `refuse`: nothing at all.")
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
