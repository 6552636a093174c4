import Foundation
import ProgramSupport
import TestSupport

/// A simulated site whose data are known. It has two gateways that overlap, badges with shifts by day and by night,
/// unnamed beacons, outages of one adapter and of both, restarts, and clock changes.
///
/// Times are whole seconds since 1970. The model shares nothing with the code that reads its files.
struct SiteModel {
    struct Span: Hashable {
        var from: Int
        var to: Int
    }

    /// The data of one gateway.
    struct Gateway {
        var name: String
        var first: Int
        var asOf: Int
        /// Periods in which neither of its adapters scanned.
        var deaf: [Span] = []
        /// Periods in which it was not running.
        var down: [Span] = []
        /// Periods in which its second adapter did not scan.
        var oneNotScanning: [Span] = []
        var subjectVisits: [SubjectVisit] = []

        /// Periods in which it received nothing, in order.
        var unknown: [Span] { (deaf + down).sorted { $0.from < $1.from } }
    }

    struct SubjectVisit: Hashable {
        var minor: Int
        var from: Int
        /// The time of the last sighting. If the visit is open, the time at which the gateway was last known to be
        /// alive.
        var to: Int
        var isOpen = false
        /// The time until which the gateway holds the beacon.
        var until: Int { isOpen ? to : to + SiteModel.exitTimeout }
    }

    static let exitTimeout = 30
    var gateways: [Gateway]
    let begin: Int
    let end: Int

    /// Simulates a site over some days.
    init(seed: UInt64, begin: Int, days: Int) {
        var random = SeededGenerator(state: seed)
        self.begin = begin
        end = begin + days * 86_400
        gateways = []
        for name in ["hall", "yard"] {
            var gateway = Gateway(
                name: name, first: begin + 3600 + random.below(600), asOf: end - 1800 - random.below(900))
            for day in 1..<max(2, days - 1) {
                let from = begin + day * 86_400 + random.below(70_000)
                let span = Span(from: from, to: from + 300 + random.below(7200))
                switch random.below(12) {
                case 0, 1: gateway.deaf.append(span)
                case 2: gateway.down.append(span)
                case 3, 4: gateway.oneNotScanning.append(span)
                default: break
                }
            }
            gateways.append(gateway)
        }
        for day in 0..<days { addShifts(begin + day * 86_400, isWorkday: day % 7 < 5, &random) }
        for place in gateways.indices { gateways[place].settle() }
    }

    private mutating func addShifts(_ midnight: Int, isWorkday: Bool, _ random: inout SeededGenerator) {
        for minor in 1...20 where random.chance(isWorkday ? 85 : 15) {
            // Every fifth badge has its shift at night.
            let start = midnight + (minor % 5 == 0 ? 79_200 : 25_000) + random.below(7200)
            let lunch = start + 12_000 + random.below(3600)
            addPresence(minor, Span(from: start, to: lunch), &random)
            addPresence(
                minor, Span(from: lunch + 900 + random.below(1800), to: start + 28_800 + random.below(3600)), &random)
        }
        for _ in 0..<random.below(30) {
            let from = midnight + 20_000 + random.below(50_000)
            addPresence(1000 + random.below(500), Span(from: from, to: from + random.below(600)), &random)
        }
    }

    /// Adds the presence of a beacon. It is received by one gateway, by the other, or by one after the other:
    /// overlapping, or with a gap shorter than the exit timeout.
    private mutating func addPresence(_ minor: Int, _ span: Span, _ random: inout SeededGenerator) {
        let middle = (span.from + span.to) / 2
        switch random.below(4) {
        case 0: gateways[0].subjectVisits.append(SubjectVisit(minor: minor, from: span.from, to: span.to))
        case 1: gateways[1].subjectVisits.append(SubjectVisit(minor: minor, from: span.from, to: span.to))
        default:
            let other = max(span.from, middle - 300 + random.below(320))
            gateways[0].subjectVisits.append(SubjectVisit(minor: minor, from: span.from, to: middle))
            gateways[1].subjectVisits.append(SubjectVisit(minor: minor, from: min(other, span.to), to: span.to))
        }
    }
}

extension SiteModel.Gateway {
    /// Changes the visits to those that the gateway can have received. No beacon enters, exits or is missed in an
    /// outage, and the visit of a beacon that is present at the end of an outage continues.
    ///
    /// A visit is open if its exit is due at most 5 s before the gateway was last known to be alive, or later.
    fileprivate mutating func settle() {
        let timeout = SiteModel.exitTimeout
        var latest: [Int: Int] = [:]
        subjectVisits = subjectVisits.sorted { ($0.from, $0.minor) < ($1.from, $1.minor) }.compactMap { subjectVisit in
            var subjectVisit = subjectVisit
            subjectVisit.from = max(subjectVisit.from, first + 60)
            for outage in unknown where (outage.from - 5...outage.to + 15).contains(subjectVisit.from) {
                subjectVisit.from = outage.to + 16
            }
            for outage in unknown
            where subjectVisit.to + timeout >= outage.from - 5 && subjectVisit.to <= outage.to + 15 {
                subjectVisit.to = outage.from - timeout - 6
            }
            if subjectVisit.to + timeout + 5 >= asOf { (subjectVisit.to, subjectVisit.isOpen) = (asOf, true) }
            guard subjectVisit.from <= subjectVisit.to, subjectVisit.from < asOf - 5 else { return nil }
            // An unnamed beacon can only have another visit after the previous one has ended.
            if let before = latest[subjectVisit.minor], subjectVisit.from <= before + timeout + 5 { return nil }
            latest[subjectVisit.minor] = subjectVisit.to
            return subjectVisit
        }
    }

    /// Returns the lines of the gateway, and the content of its file `alive`.
    func lines() -> (lines: [String], alive: String) {
        var writer = LineWriter()
        writer.gateway = name
        writer.offset = 0
        var events: [(time: Int, order: Int, write: (inout LineWriter) -> Void)] = []
        func at(_ time: Int, _ order: Int, _ write: @escaping (inout LineWriter) -> Void) {
            events.append((time, order, write))
        }
        func adapter(_ name: String, _ state: String, _ time: Int, since: Int) {
            at(time, 1) { $0.adapter(state, Double(time), since: Double(since), named: name) }
        }
        at(first, 0) { $0.started(Double(first), scans: false) }
        for name in ["hci0", "hci1"] { adapter(name, "listening", first, since: first) }
        for span in deaf {
            for name in ["hci0", "hci1"] {
                adapter(name, "deaf", span.from + 10, since: span.from)
                adapter(name, "listening", span.to, since: span.to)
            }
        }
        for span in oneNotScanning {
            adapter("hci1", "off", span.from, since: span.from)
            adapter("hci1", "listening", span.to, since: span.to)
        }
        for (number, span) in down.enumerated() {
            at(span.to, 0) { writer in
                writer.boot = "aaaaaaaa-\(String(format: "%08d", number + 2))"
                writer.started(Double(span.to), until: Double(span.from), scans: false)
            }
            for name in ["hci0", "hci1"] { adapter(name, "listening", span.to, since: span.to) }
        }
        for subjectVisit in subjectVisits {
            at(subjectVisit.from, 2) {
                $0.event(
                    "staff", "satisfied", Double(subjectVisit.from), minor: subjectVisit.minor,
                    seen: Double(subjectVisit.from))
            }
            guard !subjectVisit.isOpen else { continue }
            at(subjectVisit.until, 3) { writer in
                writer.event(
                    "staff", "unsatisfied", Double(subjectVisit.until), minor: subjectVisit.minor,
                    seen: Double(subjectVisit.to))
                writer.visit(
                    "staff", Double(subjectVisit.until), arrival: Double(subjectVisit.from),
                    departure: Double(subjectVisit.to),
                    minor: subjectVisit.minor)
            }
        }
        for event in events.sorted(by: { ($0.time, $0.order) < ($1.time, $1.order) }) { event.write(&writer) }
        return (writer.lines, writer.alive(Double(asOf)))
    }
}
