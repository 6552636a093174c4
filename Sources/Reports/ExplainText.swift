import BaseTypes
import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
import GatewayConfiguration
import JSON
import OperatorLogging

/// The text of an explanation: the event, its reason, the evidence, and the settings that would have avoided it.
struct ExplainText {
    private let finding: Explain.Finding
    private let time: ZonedTime
    private let directory: BeaconDirectory
    private var lines: [String] = []

    init(_ finding: Explain.Finding, _ time: ZonedTime, _ directory: BeaconDirectory) {
        self.finding = finding
        self.time = time.showing(from: finding.line.date, to: finding.line.date)
        self.directory = directory
        switch finding.line.entry {
        case .event(let event): describe(event)
        case .visit(let visit): describe(visit)
        case .condition(let change): describe(change)
        case .adapter(let change): describe(change)
        case .clock(let change): describe(change)
        case .gateway(let change): describe(change)
        case .evidence: break
        case .erased: describeErased()
        }
        lines.append("")
        lines.append(time.zoneSentence(from: finding.line.date, to: finding.line.date))
    }

    var text: String { lines.map { PlainText.safe($0) }.joined(separator: "\n") + "\n" }

    /// The same text by line, unchanged: it can contain characters that a terminal interprets.
    var rawLines: [String] { lines }

    /// Writes a page that loads nothing and runs no script. `pageTime` gives the form of its dates.
    func writePage(_ pageTime: ZonedTime, into buffer: inout LineBuffer) {
        let parts = PageParts(pageTime)
        let line = finding.line.sequence.map { "line \($0)" } ?? "a line"
        parts.begin(
            "Explanation: \(line) of \(finding.line.gateway)", heading: "Explanation: \(line)", into: &buffer)
        let date = "\(pageTime.text(finding.line.date)) \(pageTime.zone(at: finding.line.date))"
        buffer.append("<p class=\"range\">\(PlainText.html(finding.line.gateway)), \(date)</p>\n<pre>")
        for line in lines { buffer.append(PlainText.html(line) + "\n") }
        buffer.append("</pre>\n")
        parts.end(into: &buffer)
    }

    private var number: String { finding.line.sequence.map { "Line \($0)" } ?? "The line" }

    private func moment(_ instant: Instant) -> String { time.preciseText(finding.line.date(of: instant)) }

    private mutating func describeErased() {
        lines.append("\(number) was written at \(time.text(finding.line.date)) and erased later.")
        lines.append("")
        lines.append(
            "An erasure removed the content of this line. The files have no copy of it, and no record of the beacon.")
    }

    // MARK: Events

    private mutating func describe(_ event: BeaconMonitor.Event) {
        let who = event.scope == .beacon ? event.refinement.map { ", beacon \(name($0))" } ?? "" : ""
        lines.append("\(number): “\(event.identifier)”\(who) became \(event.state) at \(moment(event.time)).")
        if let previous = event.previous {
            // This is the date as it was printed. Whether later lines correct it is not known here.
            lines.append("Its previous state was \(previous.state), since \(time.text(previous.date)).")
        }
        lines.append("")
        switch event.state {
        case .satisfied where event.condition.isCircle, .unsatisfied where event.condition.isCircle,
            .unknown where event.condition.isCircle:
            describeCircle(event)
        case .satisfied: describeEntry(event)
        case .unsatisfied: describeExit(event)
        case .unknown: describeOutage(event)
        case .unmonitored: describeUnmonitored(event)
        }
        describeDiagnostics(event)
    }

    /// Returns `UUID/100/7`, or `Ada (UUID/100/7)` if the beacon has a name.
    private func name(_ beacon: BeaconIdentity) -> String {
        directory[beacon].map { "\($0.name) (\(beacon))" } ?? "\(beacon)"
    }

    private static func strength(_ rssi: RSSI?) -> String { rssi.map { "\($0.dBm) dBm" } ?? "unknown RSSI" }

    private mutating func describeEntry(_ event: BeaconMonitor.Event) {
        let count = finding.settings?.enterCount ?? 1
        let sighting = event.sighting
        let reception =
            "\(finding.line.adapter.isEmpty ? "an adapter" : finding.line.adapter) received "
            + "\(event.refinement.map { name($0) } ?? "a matching beacon") at \(Self.strength(sighting?.rssi))"
        if finding.mayBeReturn(event) {
            lines.append(
                "Why: \(reception). Either “\(event.identifier)” was satisfied before the last outage (rule L3),")
            lines.append("     or this was sighting \(count) of the \(count) that an entry needs (rule E1).")
        } else if count > 1 {
            let window = finding.settings.map { $0.enterWindow.inExactWords } ?? "enter_window"
            lines.append(
                "Why: \(reception). It was sighting \(count) within \(window); an entry needs \(count) (rule E1).")
        } else {
            lines.append("Why: \(reception) (rule E1).")
        }
        if let threshold = finding.settings?.enterRSSI {
            lines.append("     Only sightings of \(threshold.dBm) dBm or more count (enter_rssi, rule E2).")
        }
        describeAdapters()
    }

    private mutating func describeExit(_ event: BeaconMonitor.Event) {
        let timeout = finding.settings?.exitTimeout
        let silence = timeout.map { $0.inExactWords } ?? "the exit timeout"
        let threshold = finding.settings?.exitRSSI
        guard let lastSeen = event.lastSeen else {
            lines.append(
                "Why: no matching beacon was received during \(silence) of scanning (rule X2), nor ever before.")
            describeAdapters()
            return
        }
        let by = finding.line.adapter.isEmpty ? "" : " by \(finding.line.adapter)"
        let weak = finding.weakSightings
        if let threshold, !weak.isEmpty {
            lines.append(
                "Why: for \(silence), no sighting was strong enough to count. \(weak.count) \(weak.count == 1 ? "was" : "were")"
                    + " received in this time, the strongest at \(Self.strength(finding.sufficientRSSI)); exit_rssi is"
            )
            lines.append("     \(threshold.dBm) dBm (rules X1, X2). The threshold caused the exit, not silence.")
        } else {
            lines.append("Why: no adapter that held it received it during \(silence) of scanning (rule X2).")
        }
        lines.append(
            "     The last sighting that counted was at \(moment(lastSeen))\(by), "
                + "\(Self.strength(event.sighting?.rssi)): \((event.time - lastSeen).inExactWords) earlier.")
        if let notListened = finding.notListened {
            lines.append(
                "     In between, an adapter that held it did not scan for \(notListened.inExactWords): "
                    + "this time does not count (rule L1).")
        }
        describeEvidence(lastSeen: lastSeen)
        describeAvoidance()
        describeAdapters()
    }

    private mutating func describeEvidence(lastSeen: Instant) {
        guard let evidence = finding.evidence else {
            lines += ["", "There is no evidence line for this event: its sightings were not recorded."]
            return
        }
        lines += ["", "Adapters that held it:"]
        for holder in evidence.holders {
            lines.append(
                "  \(holder.adapter): last received it at \(moment(holder.lastRefresh)), has scanned for "
                    + "\(holder.listened.inExactWords) since then")
        }
        lines += ["", "Last sightings:"]
        var previous: Instant?
        for sighting in evidence.sightings {
            let gap = previous.map { ", \((sighting.time - $0).inExactWords) after the previous one" } ?? ""
            lines.append("  \(moment(sighting.time))  \(sighting.adapter)  \(Self.strength(sighting.rssi))\(gap)")
            previous = sighting.time
        }
        if evidence.sightings.isEmpty { lines.append("  none since the gateway was started") }
        describeGaps(evidence.gaps)
    }

    private mutating func describeGaps(_ gaps: Evidence.Gaps) {
        guard gaps.count > 0, let median = gaps.median, let p99 = gaps.p99, let longest = gaps.maximum else { return }
        lines += [
            "",
            "Its earlier gaps between sightings: \(Self.grouped(gaps.count)), half of them up to \(median.inExactWords), 99 in 100 up to "
                + "\(p99.inExactWords), the longest \(longest.inExactWords).",
        ]
        guard let timeout = finding.settings?.exitTimeout else { return }
        if let share = gaps.longerThanTimeout {
            describe(share, longerThan: timeout)
        } else if longest > timeout, longest < .seconds(600) {
            // Lines of earlier versions do not have the share, and their silences include absences of 10 minutes and
            // more. Above 65,535 silences, the recorder halved its histogram, so the shares of such a histogram are not
            // exact.
            let isExact = gaps.count <= Int(UInt16.max)
            let words = isExact && p99 <= timeout ? "at most 1 in 100" : "at least 1 of \(Self.grouped(gaps.count))"
            lines.append("Of these gaps, \(words) was longer than \(timeout.inExactWords) (exit_timeout).")
        }
    }

    private mutating func describe(_ share: Evidence.Share, longerThan timeout: Duration) {
        let gaps = "\(Self.grouped(share.total)) \(share.total == 1 ? "gap" : "gaps")"
        lines.append(
            "\(share.count == 0 ? "None" : Self.grouped(share.count)) of \(gaps) \(share.count < 2 ? "was" : "were") "
                + "longer than \(timeout.inExactWords) (exit_timeout).")
        // Whether at least 1 in 100 gaps was longer.
        if share.total >= 100, share.count > (share.total - 1) / 100 {
            lines.append("This is 1 in 100 or more: the beacon or the radio is too weak for this exit_timeout.")
        }
    }

    /// Returns a number with thousands separators: `10,700`.
    private static func grouped(_ number: Int) -> String {
        var text = "\(number)"
        var place = text.utf8.count - 3
        while place > 0 {
            text.insert(",", at: text.index(text.startIndex, offsetBy: place))
            place -= 3
        }
        return text
    }

    private mutating func describeAvoidance() {
        lines.append("")
        if let strongest = finding.sufficientRSSI {
            lines.append("An exit_rssi of \(strongest.dBm) or less would have avoided this exit.")
        }
        guard let (next, timeout) = finding.comeBack else {
            lines.append("It has not returned since, so a longer exit_timeout would only have delayed the exit.")
            return
        }
        let away = next.date.microseconds - finding.line.date.microseconds
        lines.append(
            "It returned at \(time.preciseText(next.date)), \(Duration.microseconds(away).inExactWords) later. "
                + "An exit_timeout above \(timeout.inExactWordsRoundedUp) would "
                + "\(finding.sufficientRSSI == nil ? "" : "also ")have avoided this exit.")
    }

    private mutating func describeOutage(_ event: BeaconMonitor.Event) {
        let adapters = event.previous?.state == .unsatisfied ? "all adapters" : "all adapters that held it"
        lines.append("Why: \(adapters) had been out of order for outage_timeout, so its state is unknown (rule L2).")
        if let lastSeen = event.lastSeen { lines.append("     Its last sighting was at \(moment(lastSeen)).") }
        if let lastSeen = event.lastSeen { describeEvidence(lastSeen: lastSeen) }
        describeAdapters()
    }

    private mutating func describeCircle(_ event: BeaconMonitor.Event) {
        switch event.state {
        case .satisfied:
            lines.append("Why: a fix was inside the circle, and its accuracy was at most the radius (rule G2).")
            if let count = finding.settings?.enterCount, count > 1 {
                lines.append("     It was fix \(count) of the \(count) that an entry needs (rule E1).")
            }
        case .unsatisfied:
            lines.append("Why: a fix was outside the circle by more than its accuracy (rule G2).")
        default:
            lines.append(
                "Why: the location source had delivered no fix for outage_timeout, so the state is unknown (rules L2, G3)."
            )
        }
        if event.state != .satisfied, let lastSeen = event.lastSeen {
            lines.append("     The last fix inside was at \(moment(lastSeen)).")
        }
        describeAdapters()
    }

    private mutating func describeUnmonitored(_ event: BeaconMonitor.Event) {
        if event.diagnostics.contains(.conditionUnsupported) {
            lines.append("Why: this gateway can't evaluate this condition because it has no location source (rule C5).")
        } else {
            lines.append("Why: the conditions before it had already reached condition_limit (rule C4).")
        }
    }

    private mutating func describeDiagnostics(_ event: BeaconMonitor.Event) {
        let names = event.diagnostics.listed
        guard !names.isEmpty else { return }
        lines += ["", "Flags on the event: \(names.joined(separator: ", "))."]
    }

    private mutating func describeAdapters() {
        let adapters = finding.adapterChanges
        guard !adapters.isEmpty else { return }
        lines += ["", "States of the adapters at that time:"]
        for (change, since) in adapters {
            let reason = change.reason.map { " (\($0))" } ?? ""
            lines.append("  \(change.adapter): \(change.state) since \(time.preciseText(since))\(reason)")
        }
    }

    // MARK: Other lines

    private mutating func describe(_ visit: Visit) {
        let who = visit.scope == .beacon ? visit.refinement.map { ", beacon \(name($0))" } ?? "" : ""
        lines.append("\(number): a visit of “\(visit.identifier)”\(who) ended at \(moment(visit.time)).")
        lines.append("")
        switch visit.reason {
        case .exitTimeout, .left:
            lines.append("Why: it exited. The event before this line has the reason (use `explain` for that line).")
        case .removed:
            lines.append(
                "Why: the condition was removed (rule C3), lost its place, or no longer tracks beacons without a name "
                    + "(rule P4). This was not an exit.")
        case .replaced:
            lines.append(
                "Why: the condition was replaced by one with another identity (rule C2). This was not an exit.")
        case .displaced:
            lines.append(
                "Why: max_beacons was reached, and a beacon with a name took the place of this one (rule P4). "
                    + "This was not an exit.")
            if let following = finding.following, case .event(let event) = following.entry, event.time == visit.time {
                lines.append("     Line \(following.sequence ?? 0) has the other beacon.")
            }
            lines.append("     To keep its place, give this beacon a name (beacons), or raise max_beacons.")
        }
        if let following = finding.following, case .condition(let change) = following.entry,
            change.identifier == visit.identifier
        {
            lines.append("     Line \(following.sequence ?? 0) has the change: \(change.kind).")
        }
        if let departure = visit.departure { lines.append("     Its last sighting was at \(moment(departure)).") }
    }

    private mutating func describe(_ change: ConditionChange) {
        lines.append("\(number): the condition “\(change.identifier)” was \(change.kind) at \(moment(change.time)).")
        lines += ["", "Why: the configuration, or the program that uses the monitor, requested it (rules C1 to C3)."]
    }

    private mutating func describe(_ change: AdapterChange) {
        lines.append(
            "\(number): the state of the adapter \(change.adapter) is \(change.state) from \(moment(change.since)) on.")
        lines.append("")
        switch change.state {
        case .listening: lines.append("Why: \(change.reason ?? "it delivered a report") (rule L4).")
        case .deaf: lines.append("Why: it delivered no report of any kind for deaf_after (rule L5).")
        case .off: lines.append("Why: \(change.reason ?? "its source reported that it stopped") (rule L1).")
        case .gone: lines.append("Why: \(change.reason ?? "it was removed from the configuration") (rule L3).")
        }
    }

    private mutating func describe(_ change: GatewayChange) {
        switch change.kind {
        case .started(let program, let configuration, let until):
            lines.append("\(number): the gateway was started at \(moment(change.time)).")
            lines += ["", "Program version: \(program)."]
            if let configuration { lines.append("SHA-256 of the configuration: \(configuration).") }
            if let until {
                lines.append(
                    "The previous run was last known to be alive at \(time.preciseText(until.date(on: finding.line))).")
            }
        case .stopped(let reason):
            lines.append("\(number): the gateway was stopped at \(moment(change.time)).")
            lines += ["", "Why: \(reason)."]
        }
    }

    private mutating func describe(_ change: ClockChange) {
        let step = Duration.nanoseconds(change.after.nanoseconds) - .nanoseconds(change.before.nanoseconds)
        lines.append("\(number): the wall clock was set at \(moment(change.time)).")
        lines += [
            "",
            "Why: it stepped by \(step.nanoseconds < 0 ? "-" : "")"
                + "\(Duration.nanoseconds(Int64(clamping: step.nanoseconds.magnitude)).inExactWords) and is "
                + "\(change.isSynchronized ? "" : "not ")synchronised. This line corrects earlier dates (rule T1).",
        ]
    }
}
