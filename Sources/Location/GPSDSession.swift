package import BaseTypes
package import BeaconMonitoring

/// A conversation with gpsd: octets and time in, what is to be done out.
///
/// A value: it knows no socket and no clock. Source: gpsd_json(5), protocol 3.
package struct GPSDSession: Sendable {
    /// What is to be done.
    package enum Action: Sendable, Hashable {
        /// Send this.
        case send([UInt8])
        /// Hand this over.
        case fix(LocationFix)
        /// Tell this.
        case change(LocationSourceChange)
        /// Connect, and say how that went.
        case connect
        /// Close the connection.
        case close
    }

    /// What it has counted.
    package struct Counters: Sendable, Hashable {
        /// Reports that were understood.
        package var reports = 0
        /// Fixes that were handed over.
        package var fixes = 0
        /// Lines that are no report.
        package var malformed = 0
        /// Positions that are no fix by rule G1: no accuracy, or out of range.
        package var refused = 0
        /// Lines longer than ``lineMax``, which are passed over.
        package var tooLong = 0
        /// Connections that were made.
        package var connections = 0
        /// Pauses in reading after 64 records, or 128 KiB, in 100 ms.
        package var pauses = 0
        /// Connections that were closed after 100 pauses in a row.
        package var floods = 0
        /// Errors of gpsd that no remark was made of: there is one remark a minute.
        package var errorsNotReported = 0
    }

    /// The longest line: gpsd's own bound is 10,240 octets (GPS_JSON_RESPONSE_MAX in its gps_json.h).
    package static let lineMax = 16_384
    /// After so long without a fix there is none: a single report without one is no news.
    package static let patience: Duration = .seconds(10)
    /// A connection that lasts for so long before gpsd sends too much is followed by another one after 1 s.
    package static let floodInterval: Duration = .seconds(60)
    /// A connection that says nothing for so long is dead: gpsd reports once a second while it has a device, and where it
    /// has none it is asked.
    package static let silenceMax: Duration = .seconds(60)

    // At most one remark of an error of gpsd in this time, and so much of its text.
    private static let remarkInterval: Duration = .seconds(60)
    private static let remarkCharactersMax = 200

    private enum State {
        case waiting(until: Instant), connecting(since: Instant), connected(lastHeard: Instant, asked: Bool)
    }

    /// What it has counted.
    package private(set) var counters = Counters()
    private var state: State
    private var backOff = BackOff(first: .seconds(1), most: .seconds(60))
    // Fixes do not reset it.
    private var floodBackOff = BackOff(first: .seconds(1), most: .seconds(60))
    private var connectedAt = Instant.earliest
    private var line: [UInt8] = []
    private var skipsLine = false
    private var pace = ReadingPace()
    private var lastRemark: Instant?
    /// The last dilution of precision (SKY), for a receiver of which gpsd gives no error estimate; and when it came.
    private var dilution: (value: Double, time: Instant)?
    /// The last fix, or when there began to be none.
    private var lastFix: Instant
    private var isLost = false
    private var why = "gpsd has not answered yet"
    private var lastProblem = ""

    /// A session that wants to connect at `now`.
    package init(at now: Instant) {
        state = .waiting(until: now)
        lastFix = now
    }

    /// When it next wants ``advance(to:)``.
    package var nextDeadline: Instant? {
        let own: Instant =
            switch state {
            case .waiting(let until): until
            case .connecting(let since): since + Self.patience
            case .connected(let lastHeard, let asked): lastHeard + (asked ? Self.silenceMax : Self.silenceMax / 2)
            }
        let next = min(own, pace.end ?? .latest)
        return isLost ? next : min(next, lastFix + Self.patience)
    }

    /// Whether nothing is read from gpsd at present, because it has sent more than is read in 100 ms.
    package var isPaused: Bool { pace.end != nil }

    /// Handles what is due at `now`.
    package mutating func advance(to now: Instant) -> [Action] {
        var actions: [Action] = []
        pace.advance(to: now)
        switch state {
        case .waiting(let until) where until <= now:
            state = .connecting(since: now)
            actions.append(.connect)
        case .connecting(let since) where since + Self.patience <= now:
            actions += disconnected("it does not answer", at: now)
        case .connected(let lastHeard, _) where lastHeard + Self.silenceMax <= now:
            actions += disconnected("it has sent nothing for \(Self.silenceMax.components.seconds) s", at: now)
        case .connected(let lastHeard, asked: false) where lastHeard + Self.silenceMax / 2 <= now:
            state = .connected(lastHeard: lastHeard, asked: true)
            actions.append(.send(Array("?VERSION;\n".utf8)))
        default: break
        }
        if !isLost, lastFix + Self.patience <= now { actions += lose(at: now) }
        return actions
    }

    /// The connection is there.
    package mutating func connected(at now: Instant) -> [Action] {
        counters.connections += 1
        state = .connected(lastHeard: now, asked: false)
        line = []
        skipsLine = false
        pace = ReadingPace()
        connectedAt = now
        why = "gpsd has reported no fix"
        return [.send(Array("?WATCH={\"enable\":true,\"json\":true};\n".utf8))]
    }

    /// The connection is gone, or there could not be one; `problem` says why.
    package mutating func disconnected(_ problem: String, at now: Instant) -> [Action] {
        ended(problem, isFlood: false, at: now)
    }

    private mutating func ended(_ problem: String, isFlood: Bool, at now: Instant) -> [Action] {
        var actions: [Action] = []
        if case .waiting = state { return actions }
        if case .connected = state, counters.reports > 0 { backOff.reset() }
        actions.append(.close)
        pace = ReadingPace()
        if isFlood, now - connectedAt >= Self.floodInterval { floodBackOff.reset() }
        state = .waiting(until: now + (isFlood ? floodBackOff.next() : backOff.next()))
        why = "gpsd can't be used: \(problem)"
        if problem != lastProblem { actions.append(.change(.remark("\(why); trying again"))) }
        lastProblem = problem
        // Who is not connected has no fix for certain.
        if !isLost { actions += lose(at: now) }
        return actions
    }

    /// Takes bytes from gpsd. The end of a line may come later.
    ///
    /// - Parameters:
    ///   - bytes: the bytes. Those that remain in it after a call are handed over again when ``isPaused`` has ended.
    ///   - now: when they were read.
    /// - Returns: the actions that follow.
    package mutating func received(_ bytes: inout ArraySlice<UInt8>, at now: Instant) -> [Action] {
        guard case .connected = state else {
            bytes = []
            return []
        }
        pace.advance(to: now)
        guard !isPaused, !bytes.isEmpty else { return [] }
        state = .connected(lastHeard: now, asked: false)
        var actions: [Action] = []
        let before = bytes.count
        let records = takeLines(&bytes, atMost: pace.recordsLeft, at: now, &actions)
        let isFlood = pace.take(records: records, bytes: before - bytes.count)
        if isPaused { counters.pauses += 1 }
        if isFlood {
            counters.floods += 1
            bytes = []
            actions += ended(
                "it has sent more than 640 records, or 1280 KiB, a second for 10 s", isFlood: true, at: now)
        }
        return actions
    }

    /// Takes lines, an empty one too, and returns their number.
    private mutating func takeLines(
        _ bytes: inout ArraySlice<UInt8>, atMost count: Int, at now: Instant, _ actions: inout [Action]
    ) -> Int {
        var lines = 0
        while lines < count, let octet = bytes.popFirst() {
            if octet == 0x0A {
                if !skipsLine, !line.isEmpty { take(at: now, &actions) }
                line.removeAll(keepingCapacity: true)
                skipsLine = false
                lines += 1
            } else if !skipsLine {
                if line.count < Self.lineMax {
                    line.append(octet)
                } else {
                    counters.tooLong += 1
                    skipsLine = true
                }
            }
        }
        return lines
    }

    private mutating func lose(at now: Instant) -> [Action] {
        isLost = true
        return [.change(.unavailable(since: min(lastFix, now), reason: why))]
    }

    private mutating func take(at now: Instant, _ actions: inout [Action]) {
        guard let report = GPSDReport(line), let kind = report.text("class") else {
            counters.malformed += 1
            return
        }
        counters.reports += 1
        lastProblem = ""
        switch kind {
        case "TPV": take(position: report, at: now, &actions)
        case "SKY":
            if let value = report.number("hdop"), value > 0 { dilution = (value, now) }
        case "DEVICES":
            if report.count("devices") == 0 { why = "gpsd has no receiver" }
        case "ERROR":
            if lastRemark.map({ now - $0 < Self.remarkInterval }) ?? false {
                counters.errorsNotReported += 1
            } else {
                lastRemark = now
                var message = (report.text("message") ?? "an error").prefix(Self.remarkCharactersMax)
                // A line break would start a line of its own in the log.
                message.unicodeScalars = .init(
                    message.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 })
                actions.append(.change(.remark("gpsd reports: \(message)")))
            }
        // VERSION, WATCH, DEVICE and what later versions add.
        default: break
        }
    }

    private mutating func take(position report: GPSDReport, at now: Instant, _ actions: inout [Action]) {
        // 0 unknown, 1 no fix, 2 two-dimensional, 3 three-dimensional.
        guard let mode = report.number("mode"), mode >= 2 else {
            why = "the receiver has no fix"
            return
        }
        guard let latitude = report.number("lat"), let longitude = report.number("lon"),
            let coordinate = try? Coordinate(latitude: latitude, longitude: longitude),
            var fix = try? LocationFix(time: now, coordinate: coordinate, horizontalAccuracy: accuracy(report, at: now))
        else {
            counters.refused += 1
            why = "the receiver's positions have no accuracy"
            return
        }
        fix.altitude = report.number("altMSL") ?? report.number("alt")
        fix.speed = report.number("speed").flatMap { $0 >= 0 ? $0 : nil }
        fix.course = report.number("track").flatMap { (0..<360).contains($0) ? $0 : nil }
        counters.fixes += 1
        backOff.reset()
        lastFix = now
        isLost = false
        actions.append(.fix(fix))
    }

    /// The horizontal accuracy in metres; absent where nothing tells.
    ///
    /// `eph`, else `epx` and `epy` together, are taken as 68 % though gpsd_json(5) calls their certainty unknown and gpsd
    /// computes its own for 95 %: who takes them for less exact than they are keeps a state for longer (rule G2). Where
    /// there is none, the dilution of precision stands for it: see ``GPXPoint/accuracyUnlessSaid``.
    private func accuracy(_ report: GPSDReport, at now: Instant) -> Double? {
        if let error = report.number("eph") { return error }
        if let x = report.number("epx"), let y = report.number("epy"), x >= 0, y >= 0 {
            return (x * x + y * y).squareRoot()
        }
        guard let dilution, now - dilution.time <= Self.patience else { return nil }
        return dilution.value * GPXPoint.accuracyUnlessSaid
    }
}
