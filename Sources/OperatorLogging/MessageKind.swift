/// The kind of a log message, with a name, a severity and an identifier, by which the journal can be searched
/// (`journalctl MESSAGE_ID=…`, systemd.journal-fields(7)).
///
/// Each severity is deliberate: all messages that an operator must see have `warning` or above, and no others do. An
/// identifier must never change, and must never be given to another kind.
package enum MessageKind: String, Sendable, Hashable, CaseIterable {
    // The processes of the gateway and the server.
    case gatewayStarts, gatewayRuns, gatewayWaits, gatewayStops, cannotRun, managerNotNotified, machineSuspended,
        clockChanged, recovered, capabilityKept, capabilityNotDropped
    // Adapters.
    case adapterAppeared, adapterGone, adapterScans, adapterNotScanning, adapterUnconfirmed, adapterSilent,
        adapterStaysSilent, adapterStep, adapterStepRepeated, adapterNeedsStep, adapterReceivesAgain, reportsLost,
        canarySilent, canaryReceived, duplicatesFiltered, duplicatesReported, beaconTooRare, beaconOftenEnough
    // Backends.
    case scannerUsed, scannerEnded, scannerStarted, scannerClosed, scannerUnneeded, scannerLimited,
        scanningObstructed, scanningUnobstructed, captureProblem
    // Configuration, conditions, beacons and location.
    case configurationApplied, configurationRejected, configurationPostponed, conditionNotMonitored,
        beaconsDoNotFit, newBeaconsRefused, uuidReversed, locationUnavailable, locationProblem, locationFound
    // The event log.
    case linesNotStored, linesStoredAgain, eventFilesChanged, aliveNotWritten, beaconForgotten, beaconNotForgotten
    // The broker.
    case brokerError, brokerAvailable, brokerExposed, linesPublished
    // Scanning, recording and serving.
    case recordingStarts, reportsNotListed, reportsNotTaken, serving, servingReloaded, servingNotReloaded,
        certificateExpires, eventFilesNotRead, eventFilesReadAgain

    // MARK: The catalog

    /// The severity.
    package var level: LogLevel { row.level }

    /// The identifier in the journal: 128 bits as 32 hexadecimal digits.
    package var identifier: String { row.identifier }

    /// The meaning of the message, for operators.
    package var meaning: String { row.meaning() }

    private struct Row {
        let level: LogLevel
        let identifier: String
        // The text is created only on demand, because a message needs only its level and its identifier.
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
                "The gateway starts: it reads its configuration and its stored state.")
        case .gatewayRuns:
            Row(
                .notice, "58853e2658724914ac41d82d65d97d6c",
                "The gateway runs. The message has its backend, its conditions, its folder and its first line.")
        case .gatewayWaits:
            Row(
                .notice, "b483fb2de0a84e62898715883bb5f6eb",
                "No adapter scans. The message has the reason, which `systemctl status` shows too.")
        case .gatewayStops:
            Row(
                .notice, "418fa7082355413c8689524f4b50821a",
                "The gateway received a signal to stop, or has stopped and written all its lines.")
        case .cannotRun:
            Row(
                .error, "c61f88b207a94bdfb95892b3982f1604",
                "The process has stopped, or could not start. The message has the reason and a remedy.")
        case .managerNotNotified:
            Row(
                .debug, "2bee3784d7a84f8d9dbd2071eed74ca8",
                "systemd could not be notified of the state of the gateway. The gateway continues.")
        case .machineSuspended:
            Row(
                .notice, "750bf0a7634949c185c7db6c94ea4dd6",
                "The machine was suspended. No adapter scanned in that time, so it does not count as absence of any "
                    + "beacon.")
        case .clockChanged:
            Row(
                .notice, "be8ee2ba56ca4a8e9ec60503976b126e",
                "The wall clock was set, or was synchronised for the first time. Later lines have its dates. No "
                    + "beacon enters or exits because of it.")
        case .recovered:
            Row(
                .warning, "e7ce8f5f239040e3a60aa9f217fedc34",
                "The files of the previous run were not in order: for example, an incomplete line, a record that "
                    + "can't be read, or a lock without an owner. The message has the file and the action.")
        case .capabilityKept:
            Row(
                .notice, "215c745c11ca48baac8456dcbcbdb1ea",
                "A capability that the gateway keeps, and the reason.")
        case .capabilityNotDropped:
            Row(
                .warning, "20ad1a6e93da4e9db63092d3282e6f7a",
                "A capability that is not needed could not be dropped.")
        case .adapterAppeared:
            Row(
                .notice, "8f89d83c595446f1b786b439a64f1951",
                "An adapter appeared.")
        case .adapterGone:
            Row(
                .warning, "89bf8679bc8a4e1e82793fbc335b9ece",
                "An adapter was removed, or the backend does not report it any more.")
        case .adapterScans:
            Row(
                .notice, "3c24e0b902a744e8845a8a334260d682",
                "An adapter scans from now on. The message has the reason.")
        case .adapterNotScanning:
            Row(
                .warning, "9578b0c312644e53a54801f3b5ef8151",
                "An adapter does not scan from now on. The message has the reason. No beacon exits because of it; "
                    + "after outage_timeout, beacons that only this adapter held are unknown.")
        case .adapterUnconfirmed:
            Row(
                .info, "5a2746710c664d5abb12b0b275e78f87",
                "An adapter scans, but it is not confirmed that it receives. It counts as scanning from its next "
                    + "report on; if the canary is missing, from the canary's next report on.")
        case .adapterSilent:
            Row(
                .warning, "73788a7aa93e4c8b9fb5df8f1f2adb73",
                "An adapter has not delivered a report of any kind for so long that the gateway takes steps.")
        case .adapterStaysSilent:
            Row(
                .error, "680e13b97d8046adbf31a32411a89757",
                "All steps were taken, and the adapter still delivers no report. The steps are repeated. Unplug the "
                    + "adapter and plug it in again, or replace it.")
        case .adapterStep:
            Row(
                .notice, "0a36b041c2a7432099ed4e13cda42f8b",
                "A step that was taken for a silent adapter, or a skipped step with its reason.")
        case .adapterStepRepeated:
            Row(
                .info, "fcb63dfa8054442f94ad94ea28a1ae40",
                "A step that was taken again, after all steps.")
        case .adapterNeedsStep:
            Row(
                .warning, "fa7239637d4e4f3897573feb4c1450e8",
                "The backend reports that an adapter needs a step.")
        case .adapterReceivesAgain:
            Row(
                .notice, "2ae7538511474d04a6670aeea4316e16",
                "The first report of an adapter after a silence. The message has the last step.")
        case .reportsLost:
            Row(
                .warning, "3c8d6e732e35452b86da79f130991b17",
                "The kernel or bluetoothd had more reports than the gateway could read, and some are lost. The "
                    + "adapter counts as not scanning in that time.")
        case .canarySilent:
            Row(
                .warning, "ee9c72f7c1c342d58c39f41e12ba5613",
                "The canary was not received for so long that its adapter counts as deaf. Its other reports are not "
                    + "used. Check the battery of the canary, and whether it is in range.")
        case .canaryReceived:
            Row(
                .notice, "0c6d122f90e0455ca9fa61a4040342b5",
                "The canary is received again.")
        case .duplicatesFiltered:
            Row(
                .warning, "92deef4f4c014bf88b51cb49ce774f05",
                "The controller delivers one report per beacon and scan, so exits are less exact. With "
                    + "CAP_NET_ADMIN, the management backend delivers all reports.")
        case .duplicatesReported:
            Row(
                .notice, "d8549055a0524fa491fd8ce4c08a6cf1",
                "The controller delivers every report again.")
        case .beaconTooRare:
            Row(
                .warning, "83b0a2c50b574bbe8e348c7ad11ceaa8",
                "A beacon is received too rarely for its exit_timeout. The message has figures. Raise exit_timeout, "
                    + "or make the beacon advertise more often.")
        case .beaconOftenEnough:
            Row(
                .notice, "d90faca0a7e740c1ade035753dae7a02",
                "A beacon is received often enough again for its exit_timeout.")
        case .scannerUsed:
            Row(
                .notice, "1572ec92314c432cb5b1915c888c7012",
                "The backend that scans from now on, and the reason why no better one is used.")
        case .scannerEnded:
            Row(
                .warning, "54021dafefd6429c8955189874d04d38",
                "A backend has stopped. The message has the reason. Other backends are tried.")
        case .scannerStarted:
            Row(
                .debug, "5800dbc2a23244da92625181c79261d4",
                "A backend was started.")
        case .scannerClosed:
            Row(
                .info, "efb0e0958bf94550a6a6cf3c563fb487",
                "A backend is not available to this user or on this machine.")
        case .scannerUnneeded:
            Row(
                .info, "a0b086b969ae4c3ca9b833fa21578e3d",
                "A backend is not needed any more.")
        case .scannerLimited:
            Row(
                .warning, "22dec3a8df664e729e5bff6da0d6e5a3",
                "A setting that the present backend does not support.")
        case .captureProblem:
            Row(
                .warning, "919f1c2e61fa442ca52f741c10904594",
                "A problem with the capture, or with the other program, that `run --from` reads. The message has the "
                    + "reason. A FIFO or a socket that can't be opened or read is tried again.")
        case .scanningObstructed:
            Row(
                .warning, "97238172ccbc40938795ef83400fe8b5",
                "An obstacle to scanning: missing rights, rfkill, bluetoothd, or filtered duplicates.")
        case .scanningUnobstructed:
            Row(
                .notice, "53f9c1ec29f242d99b275de8ba74bfe9",
                "There is no obstacle to scanning any more.")
        case .configurationApplied:
            Row(
                .notice, "c0bc3626bcc146a891f8b69267521eaf",
                "A reload applied the configuration. The message has the changes.")
        case .configurationRejected:
            Row(
                .error, "7de6ff7dac8a4ee1bfa64d6b919ae7dc",
                "A reload found errors in the configuration, which the message lists. The gateway continues with "
                    + "the old configuration.")
        case .configurationPostponed:
            Row(
                .warning, "079059493f5441c7b4a20fabc15a1392",
                "Changed settings that take effect only after a restart, and the reason.")
        case .conditionNotMonitored:
            Row(
                .warning, "26e080c6703d463f996ecea8b37e41c4",
                "A condition is not monitored.")
        case .beaconsDoNotFit:
            Row(
                .warning, "0777604af2094d6c83eaeb1403e3addc",
                "Not all beacons under a condition are monitored, because max_beacons is reached. Raise it, or "
                    + "narrow the condition.")
        case .uuidReversed:
            Row(
                .warning, "9b761436351c4ecf929ee6e6be40870b",
                "The UUID of a condition has the bytes of received beacons in reverse order, as btmon prints them. "
                    + "If the condition is for these beacons, set its uuid to the one in the message.")
        case .newBeaconsRefused:
            Row(
                .warning, "8cab9eee221f4fa99659e77edfb37d48",
                "More new beacons match a condition than max_new_beacons. Name them, raise the limit, or find the "
                    + "sender of forged beacons.")
        case .locationUnavailable:
            Row(
                .error, "fc05a307a3f048a083460012e9c3b282",
                "The location source can't be used. Circles have no fix; beacons are still monitored.")
        case .locationProblem:
            Row(
                .warning, "bc5a8fdc712249149ab1f210af5c42f8",
                "A problem with the location source or with its data. The message has the reason.")
        case .locationFound:
            Row(
                .notice, "46baafebba7c4dff8ca533e837e77009",
                "Fixes arrive again.")
        case .linesNotStored:
            Row(
                .error, "de4bf1ba7ebf40f19b90d25a1bce015c",
                "Lines or records can't be written. The message has the reason. Monitoring continues. Lines wait in "
                    + "memory; if they do not fit, they are counted as lost.")
        case .linesStoredAgain:
            Row(
                .notice, "c77acac648444c0ab6083798f0c20f66",
                "Lines and records are stored again.")
        case .eventFilesChanged:
            Row(
                .warning, "84bd5388e36b4dfd8397a5fc83bf7e0e",
                "A change of event files that no user asked the gateway for: they were deleted before their time, "
                    + "or another program removed or truncated them.")
        case .aliveNotWritten:
            Row(
                .warning, "02d374307159429d82a6d7f95ddd5b6e",
                "The file `alive`, with the time until which the gateway was alive, can't be written.")
        case .beaconForgotten:
            Row(
                .notice, "3f10ec893e6d4a0dac91b6ff63b8e203",
                "A beacon was forgotten at the request of `erase`.")
        case .beaconNotForgotten:
            Row(
                .error, "643e36c6798a4f1192b06b79a40c3260",
                "A request to forget a beacon failed, completely or in part. The message has the reason.")
        case .brokerError:
            Row(
                .warning, "0f9a3fc6cd164a19b51958b1c43591e7",
                "A problem with publishing. The message has the reason, and a remedy if there is one. Lines wait in "
                    + "the event files unless the message says otherwise.")
        case .brokerAvailable:
            Row(
                .notice, "174e0dd031d54f73aa4771b5dcc2cf27",
                "The broker is connected or accepts lines again, or another problem with publishing has ended.")
        case .brokerExposed:
            Row(
                .warning, "b6366b5206ef4d4c951892a56747067d",
                "Data that is sent to the broker can be read or changed on the network.")
        case .linesPublished:
            Row(
                .notice, "01b3068e86734c30848d58fb4b1d5de0",
                "The number of lines that `publish` has published, and the line up to which the broker has all.")
        case .recordingStarts:
            Row(
                .notice, "c3cca35484de4c138865ca5605109655",
                "A recording starts. The message has the adapters and the file.")
        case .reportsNotListed:
            Row(
                .warning, "11f6b75dea7648f0a866acb72530c252",
                "Reports, or seconds, that are missing in the output.")
        case .reportsNotTaken:
            Row(
                .warning, "7eb8e8f137d54e9bbaa4cfe7c7b1ac0f",
                "The program that scans does not take the reports. They are dropped until it does.")
        case .serving:
            Row(
                .notice, "d4166eec270b47e3a897aa1e540aa5f1",
                "The folder that is served, and the address.")
        case .servingReloaded:
            Row(
                .notice, "1afcb40c7e32474a94eef16b17b33c60",
                "Names, users or the certificate were read again.")
        case .servingNotReloaded:
            Row(
                .warning, "c141e82852f14c3f8108a590ef02e84b",
                "Names, users or the certificate could not be read again. The old ones stay in use.")
        case .certificateExpires:
            Row(
                .warning, "a06009723dee43448a0df8448b8c3bc4",
                "The certificate expires soon, or has expired. Install a new one, and run `systemctl reload "
                    + "beacon-gateway-serve`.")
        case .eventFilesNotRead:
            Row(
                .warning, "10fa099eb33f4cd2b00ffac1da073c27",
                "The server can't read the event files. Until it can, answers are errors, or include the reason.")
        case .eventFilesReadAgain:
            Row(
                .notice, "7fe3053a2e304366b5e08346a813ebe0",
                "The server reads the event files again.")
        }
    }
}
