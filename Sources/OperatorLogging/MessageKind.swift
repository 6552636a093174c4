/// What a line of the log tells of: a name, its rank and an identifier of its own, by which the journal can be searched
/// (`journalctl MESSAGE_ID=…`, systemd.journal-fields(7)).
///
/// Each rank is chosen: at `warning` and above stands what an operator must see, and nothing else. An identifier never
/// changes and is never given to anything else.
package enum MessageKind: String, Sendable, Hashable, CaseIterable {
    // The gateway and the server as processes.
    case gatewayStarts, gatewayRuns, gatewayWaits, gatewayEnds, cannotRun, managerNotTold, machineSlept,
        clockChanged, recovered, capabilityKept, capabilityNotDropped
    // Adapters.
    case adapterAppeared, adapterGone, adapterListens, adapterNotListening, adapterUnproven, adapterSilent,
        adapterStaysSilent, adapterStep, adapterStepRepeated, adapterNeedsStep, adapterHearsAgain, reportsLost,
        canarySilent, canaryHeard, duplicatesFiltered, duplicatesHeard, beaconTooRare, beaconOftenEnough
    // Ways of hearing.
    case scannerUsed, scannerEnded, scannerBegun, scannerClosed, scannerUnneeded, scannerLimited,
        hearingObstructed, hearingUnobstructed
    // What is monitored.
    case configurationApplied, configurationRefused, configurationPostponed, conditionNotMonitored,
        beaconsDoNotFit, newBeaconsHeldBack, uuidReversed, locationUnavailable, locationRemark, locationFound
    // The event log.
    case linesNotKept, linesKeptAgain, eventFilesRemark, aliveNotTold, beaconForgotten, beaconNotForgotten
    // The broker.
    case brokerTrouble, brokerNews, brokerExposed, linesShipped
    // Listing, recording, serving.
    case recordingBegins, reportsNotListed, reportsNotTaken, serving, servingReloaded, servingNotReloaded,
        certificateEnds, eventFilesNotRead, eventFilesReadAgain

    // MARK: The catalogue

    /// How much it matters.
    package var level: LogLevel { row.level }

    /// 128 bits in 32 hexadecimal digits, as the journal has it.
    package var identifier: String { row.identifier }

    /// What it says, for operators.
    package var meaning: String { row.meaning() }

    private struct Row {
        let level: LogLevel
        let identifier: String
        // Made when it is asked for: a message needs only its level and its identifier.
        let meaning: () -> String

        init(_ level: LogLevel, _ identifier: String, _ meaning: @autoclosure @escaping () -> String) {
            (self.level, self.identifier, self.meaning) = (level, identifier, meaning)
        }
    }

    private var row: Row {
        switch self {
        case .gatewayStarts:
            Row(
                .notice, "e980bb063e6b4a6d8e9ddb9105992b96",
                "The gateway begins: it reads its configuration and what was written before.")
        case .gatewayRuns:
            Row(
                .notice, "58853e2658724914ac41d82d65d97d6c",
                "The gateway is up: how it hears, how many conditions it monitors, and where it writes from which "
                    + "line on.")
        case .gatewayWaits:
            Row(
                .notice, "b483fb2de0a84e62898715883bb5f6eb",
                "How the gateway stands while no adapter listens, which is what `systemctl status` shows.")
        case .gatewayEnds:
            Row(
                .notice, "418fa7082355413c8689524f4b50821a",
                "The gateway was asked to end, or has ended and written all it had.")
        case .cannotRun:
            Row(
                .error, "c61f88b207a94bdfb95892b3982f1604",
                "The process ended, or did not begin, for the reason that is given; what to do about it is said "
                    + "with it.")
        case .managerNotTold:
            Row(
                .debug, "2bee3784d7a84f8d9dbd2071eed74ca8",
                "systemd could not be told how the gateway stands; it goes on.")
        case .machineSlept:
            Row(
                .notice, "750bf0a7634949c185c7db6c94ea4dd6",
                "The machine was suspended. Nothing listened meanwhile, and that counts for nobody's absence.")
        case .clockChanged:
            Row(
                .notice, "be8ee2ba56ca4a8e9ec60503976b126e",
                "The wall clock was set, or is synchronised for the first time. Lines from here on are dated by "
                    + "it; nobody comes or goes by that.")
        case .recovered:
            Row(
                .warning, "e7ce8f5f239040e3a60aa9f217fedc34",
                "What the gateway found of the one before it was not as it should be: a torn line, a record that "
                    + "can't be read, a lock without an owner. What became of it is said.")
        case .capabilityKept:
            Row(
                .notice, "215c745c11ca48baac8456dcbcbdb1ea",
                "A capability that is still needed, and what for.")
        case .capabilityNotDropped:
            Row(
                .warning, "20ad1a6e93da4e9db63092d3282e6f7a",
                "A capability that nothing needs could not be given up.")
        case .adapterAppeared:
            Row(
                .notice, "8f89d83c595446f1b786b439a64f1951",
                "An adapter is there.")
        case .adapterGone:
            Row(
                .warning, "89bf8679bc8a4e1e82793fbc335b9ece",
                "An adapter was taken out, or the way of hearing no longer knows it.")
        case .adapterListens:
            Row(
                .notice, "3c24e0b902a744e8845a8a334260d682",
                "An adapter listens from here on, and why.")
        case .adapterNotListening:
            Row(
                .warning, "9578b0c312644e53a54801f3b5ef8151",
                "An adapter does not listen from here on, and why. Nobody leaves by that; after outage_timeout "
                    + "whoever it alone held is unknown.")
        case .adapterUnproven:
            Row(
                .info, "5a2746710c664d5abb12b0b275e78f87",
                "An adapter scans, and counts as listening once a report comes.")
        case .adapterSilent:
            Row(
                .warning, "73788a7aa93e4c8b9fb5df8f1f2adb73",
                "An adapter has given no report of any kind for so long that steps are taken.")
        case .adapterStaysSilent:
            Row(
                .error, "680e13b97d8046adbf31a32411a89757",
                "All steps were taken, and the adapter gives no report. They are tried again and again; take it "
                    + "out and plug it in, or replace it.")
        case .adapterStep:
            Row(
                .notice, "0a36b041c2a7432099ed4e13cda42f8b",
                "A step that is taken for a silent adapter, or why it is not.")
        case .adapterStepRepeated:
            Row(
                .info, "fcb63dfa8054442f94ad94ea28a1ae40",
                "The same step once more, after all were taken.")
        case .adapterNeedsStep:
            Row(
                .warning, "fa7239637d4e4f3897573feb4c1450e8",
                "The way of hearing says that an adapter needs a step.")
        case .adapterHearsAgain:
            Row(
                .notice, "2ae7538511474d04a6670aeea4316e16",
                "The first report after a silence, and what the last step was.")
        case .reportsLost:
            Row(
                .warning, "3c8d6e732e35452b86da79f130991b17",
                "The kernel or bluetoothd had more than could be taken, and some of it is lost; the adapter "
                    + "counts as not listening meanwhile.")
        case .canarySilent:
            Row(
                .warning, "ee9c72f7c1c342d58c39f41e12ba5613",
                "The canary has not been heard for so long that its adapter counts as deaf; what else it hears is "
                    + "kept back. Look at the canary's battery, and whether it is in reach.")
        case .canaryHeard:
            Row(
                .notice, "0c6d122f90e0455ca9fa61a4040342b5",
                "The canary is heard again.")
        case .duplicatesFiltered:
            Row(
                .warning, "92deef4f4c014bf88b51cb49ce774f05",
                "The controller gives one report of each beacon and scan, so that exits are coarser. "
                    + "CAP_NET_ADMIN opens the management backend, which hears all.")
        case .duplicatesHeard:
            Row(
                .notice, "d8549055a0524fa491fd8ce4c08a6cf1",
                "The controller gives every report again.")
        case .beaconTooRare:
            Row(
                .warning, "83b0a2c50b574bbe8e348c7ad11ceaa8",
                "A beacon is heard too rarely for its exit_timeout, with figures: raise exit_timeout, or have it "
                    + "advertise more often.")
        case .beaconOftenEnough:
            Row(
                .notice, "d90faca0a7e740c1ade035753dae7a02",
                "A beacon is heard often enough again for its exit_timeout.")
        case .scannerUsed:
            Row(
                .notice, "1572ec92314c432cb5b1915c888c7012",
                "By which way it hears from here on, and why not by a better one.")
        case .scannerEnded:
            Row(
                .warning, "54021dafefd6429c8955189874d04d38",
                "A way of hearing has ended, and why; others are tried.")
        case .scannerBegun:
            Row(
                .debug, "5800dbc2a23244da92625181c79261d4",
                "A way of hearing was begun.")
        case .scannerClosed:
            Row(
                .info, "efb0e0958bf94550a6a6cf3c563fb487",
                "A way of hearing is not open to this user or on this machine.")
        case .scannerUnneeded:
            Row(
                .info, "a0b086b969ae4c3ca9b833fa21578e3d",
                "A way of hearing is not needed any more.")
        case .scannerLimited:
            Row(
                .warning, "22dec3a8df664e729e5bff6da0d6e5a3",
                "What the way that is in use can't do of what the configuration asks.")
        case .hearingObstructed:
            Row(
                .warning, "97238172ccbc40938795ef83400fe8b5",
                "What stands in the way of hearing: rights, rfkill, bluetoothd, duplicates that are filtered.")
        case .hearingUnobstructed:
            Row(
                .notice, "53f9c1ec29f242d99b275de8ba74bfe9",
                "Nothing stands in the way of hearing any more.")
        case .configurationApplied:
            Row(
                .notice, "c0bc3626bcc146a891f8b69267521eaf",
                "A reload applied the configuration: what it changed.")
        case .configurationRefused:
            Row(
                .error, "7de6ff7dac8a4ee1bfa64d6b919ae7dc",
                "A reload found mistakes in the configuration, which are named; what ran before goes on.")
        case .configurationPostponed:
            Row(
                .warning, "079059493f5441c7b4a20fabc15a1392",
                "Settings that are applied at the next start, or that can't be applied while the gateway runs, "
                    + "and why.")
        case .conditionNotMonitored:
            Row(
                .warning, "26e080c6703d463f996ecea8b37e41c4",
                "A condition is not monitored.")
        case .beaconsDoNotFit:
            Row(
                .warning, "0777604af2094d6c83eaeb1403e3addc",
                "More beacons match a condition than max_beacons: raise it, or narrow the condition.")
        case .uuidReversed:
            Row(
                .warning, "9b761436351c4ecf929ee6e6be40870b",
                "The UUID of a condition has the bytes of received beacons in reverse order, as btmon prints "
                    + "them. If these beacons are meant, set the condition's uuid to the one in the message.")
        case .newBeaconsHeldBack:
            Row(
                .warning, "8cab9eee221f4fa99659e77edfb37d48",
                "More new beacons match a condition than max_new_beacons: name them, raise it, or look for who "
                    + "invents them.")
        case .locationUnavailable:
            Row(
                .error, "fc05a307a3f048a083460012e9c3b282",
                "The source that says where the gateway is can't be used; circles have no fix, and beacons are "
                    + "monitored all the same.")
        case .locationRemark:
            Row(
                .warning, "bc5a8fdc712249149ab1f210af5c42f8",
                "What is wrong with the source that says where the gateway is.")
        case .locationFound:
            Row(
                .notice, "46baafebba7c4dff8ca533e837e77009",
                "There is a fix again.")
        case .linesNotKept:
            Row(
                .error, "de4bf1ba7ebf40f19b90d25a1bce015c",
                "Lines or records can't be written, and why. Monitoring goes on; lines wait in memory, or are "
                    + "counted as lost where they no longer fit.")
        case .linesKeptAgain:
            Row(
                .notice, "c77acac648444c0ab6083798f0c20f66",
                "Lines and records are kept again.")
        case .eventFilesRemark:
            Row(
                .warning, "84bd5388e36b4dfd8397a5fc83bf7e0e",
                "What became of event files that nobody asked for: deleted before their time, taken away or cut "
                    + "by somebody else.")
        case .aliveNotTold:
            Row(
                .warning, "02d374307159429d82a6d7f95ddd5b6e",
                "The file that tells reports until when the gateway was alive can't be written.")
        case .beaconForgotten:
            Row(
                .notice, "3f10ec893e6d4a0dac91b6ff63b8e203",
                "A beacon was forgotten, as `erase` asked.")
        case .beaconNotForgotten:
            Row(
                .error, "643e36c6798a4f1192b06b79a40c3260",
                "A beacon was to be forgotten and is not, or not everywhere, and why.")
        case .brokerTrouble:
            Row(
                .warning, "0f9a3fc6cd164a19b51958b1c43591e7",
                "What keeps lines from the broker, and what to do. They wait, and none is lost.")
        case .brokerNews:
            Row(
                .notice, "174e0dd031d54f73aa4771b5dcc2cf27",
                "The broker is reached, or takes lines again.")
        case .brokerExposed:
            Row(
                .warning, "b6366b5206ef4d4c951892a56747067d",
                "What is sent to the broker can be read or changed on the way.")
        case .linesShipped:
            Row(
                .notice, "01b3068e86734c30848d58fb4b1d5de0",
                "How many lines `publish` shipped, and up to which the broker has all.")
        case .recordingBegins:
            Row(
                .notice, "c3cca35484de4c138865ca5605109655",
                "What hears, and where it is written to.")
        case .reportsNotListed:
            Row(
                .warning, "11f6b75dea7648f0a866acb72530c252",
                "Reports, or seconds, that are not in what was listed.")
        case .reportsNotTaken:
            Row(
                .warning, "7eb8e8f137d54e9bbaa4cfe7c7b1ac0f",
                "The program that hears does not take what is heard; reports are dropped until it does.")
        case .serving:
            Row(
                .notice, "d4166eec270b47e3a897aa1e540aa5f1",
                "What is served, and at which address.")
        case .servingReloaded:
            Row(
                .notice, "1afcb40c7e32474a94eef16b17b33c60",
                "Names, users or the certificate were read again.")
        case .servingNotReloaded:
            Row(
                .warning, "c141e82852f14c3f8108a590ef02e84b",
                "Names, users or the certificate could not be read again, and stay as they were.")
        case .certificateEnds:
            Row(
                .warning, "a06009723dee43448a0df8448b8c3bc4",
                "The certificate ends soon, or has ended: put a new one there, and `systemctl reload "
                    + "beacon-gateway-serve`.")
        case .eventFilesNotRead:
            Row(
                .warning, "10fa099eb33f4cd2b00ffac1da073c27",
                "The server can't read the event files. Until it can, results are errors, or have the reason with "
                    + "them.")
        case .eventFilesReadAgain:
            Row(
                .notice, "7fe3053a2e304366b5e08346a813ebe0",
                "The server reads the event files again.")
        }
    }
}
