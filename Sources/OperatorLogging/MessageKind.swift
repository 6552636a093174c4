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
}
