package import BaseTypes
package import BeaconMonitoring

/// The protocol with gpsd as a value: its inputs are bytes and time, its outputs are actions.
///
/// It has no socket and no clock. Source: gpsd_json(5), protocol 3.
package struct GPSDSession: Sendable {
    /// An output of the session, which the caller must carry out.
    package enum Action: Sendable, Hashable {
        /// Send these bytes.
        case send([UInt8])
        /// Deliver this fix.
        case fix(LocationFix)
        /// Deliver this change.
        case change(LocationSourceChange)
        /// Connect, and report the result.
        case connect
        /// Close the connection.
        case close
    }

    /// The counters of the session.
    package struct Counters: Sendable, Hashable {
        /// The number of valid reports.
        package var reports = 0
        /// The number of delivered fixes.
        package var fixes = 0
        /// The number of lines that are not a report.
        package var malformed = 0
        /// The number of positions that are not a fix by rule G1: without accuracy, or out of range.
        package var refused = 0
        /// The number of lines longer than ``lineMax``, which are skipped.
        package var tooLong = 0
        /// The number of connections.
        package var connections = 0
        /// The number of pauses in reading after 64 records, or 128 KiB, in 100 ms.
        package var pauses = 0
        /// The number of connections that were closed after 100 pauses in a row.
        package var floods = 0
        /// The number of errors of gpsd without a remark: there is at most one remark per minute.
        package var errorsNotReported = 0
    }

    /// The maximum length of a line in bytes. gpsd's own limit is 10,240 (GPS_JSON_RESPONSE_MAX in its gps_json.h).
    package static let lineMax = 16_384
    /// The time without a fix after which the location is unavailable. A single report without a fix has no effect.
    package static let patience: Duration = .seconds(10)
    /// If a connection lasted this long before gpsd sent too much, the next attempt follows after 1 s.
    package static let floodInterval: Duration = .seconds(60)
    /// The time without data after which a connection is closed. gpsd reports once per second while it has a device;
    /// without a device, the session sends a request after half of this time.
    package static let silenceMax: Duration = .seconds(60)

    // The minimum interval between remarks about errors of gpsd, and the maximum length of their text.
    private static let remarkInterval: Duration = .seconds(60)
    private static let remarkCharactersMax = 200

    private enum State {
        case waiting(until: Instant), connecting(since: Instant), connected(lastReceived: Instant, asked: Bool)
    }

    /// The counters since the start.
    package private(set) var counters = Counters()
    private var state: State
    private var backOff = BackOff(first: .seconds(1), most: .seconds(60))
    // A fix does not reset it.
    private var floodBackOff = BackOff(first: .seconds(1), most: .seconds(60))
    private var connectedAt = Instant.earliest
    private var line: [UInt8] = []
    private var skipsLine = false
    private var pace = ReadingPace()
    private var lastRemark: Instant?
    /// The last dilution of precision (SKY) with its time, for receivers without an error estimate of gpsd.
    private var dilution: (value: Double, time: Instant)?
    /// The time of the last fix, or the start of the session before the first.
    private var lastFix: Instant
    private var isLost = false
    private var why = "gpsd has not answered yet"
    private var lastProblem = ""

    /// Creates a session that wants to connect at `now`.
    package init(at now: Instant) {
        state = .waiting(until: now)
        lastFix = now
    }

    /// The next time at which ``advance(to:)`` must be called.
    package var nextDeadline: Instant? {
        let own: Instant =
            switch state {
            case .waiting(let until): until
            case .connecting(let since): since + Self.patience
            case .connected(let lastReceived, let asked): lastReceived + (asked ? Self.silenceMax : Self.silenceMax / 2)
            }
        let next = min(own, pace.end ?? .latest)
        return isLost ? next : min(next, lastFix + Self.patience)
    }

    /// Whether reading from gpsd pauses, because it has sent more than the limit for 100 ms.
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
        case .connected(let lastReceived, _) where lastReceived + Self.silenceMax <= now:
            actions += disconnected("it has sent nothing for \(Self.silenceMax.components.seconds) s", at: now)
        case .connected(let lastReceived, asked: false) where lastReceived + Self.silenceMax / 2 <= now:
            state = .connected(lastReceived: lastReceived, asked: true)
            actions.append(.send(Array("?VERSION;\n".utf8)))
        default: break
        }
        if !isLost, lastFix + Self.patience <= now { actions += lose(at: now) }
        return actions
    }

    /// Handles a connection that was made.
    package mutating func connected(at now: Instant) -> [Action] {
        counters.connections += 1
        state = .connected(lastReceived: now, asked: false)
        line = []
        skipsLine = false
        pace = ReadingPace()
        connectedAt = now
        why = "gpsd has reported no fix"
        return [.send(Array("?WATCH={\"enable\":true,\"json\":true};\n".utf8))]
    }

    /// Handles a connection that ended or could not be made, for the reason `problem`.
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
        // Without a connection, there is certainly no fix.
        if !isLost { actions += lose(at: now) }
        return actions
    }

    /// Handles bytes from gpsd. A line can continue in the next bytes.
    ///
    /// - Parameters:
    ///   - bytes: the bytes. If some remain after the call, pass them again when ``isPaused`` has ended.
    ///   - now: the time at which they were read.
    /// - Returns: the actions that follow.
    package mutating func received(_ bytes: inout ArraySlice<UInt8>, at now: Instant) -> [Action] {
        guard case .connected = state else {
            bytes = []
            return []
        }
        pace.advance(to: now)
        guard !isPaused, !bytes.isEmpty else { return [] }
        state = .connected(lastReceived: now, asked: false)
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

    /// Handles lines, including empty ones, and returns their number.
    private mutating func takeLines(
        _ bytes: inout ArraySlice<UInt8>, atMost count: Int, at now: Instant, _ actions: inout [Action]
    ) -> Int {
        var lines = 0
        while lines < count, let byte = bytes.popFirst() {
            if byte == 0x0A {
                if !skipsLine, !line.isEmpty { take(at: now, &actions) }
                line.removeAll(keepingCapacity: true)
                skipsLine = false
                lines += 1
            } else if !skipsLine {
                if line.count < Self.lineMax {
                    line.append(byte)
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
                // A line break would start a new line in the log.
                message.unicodeScalars = .init(
                    message.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 })
                actions.append(.change(.remark("gpsd reports: \(message)")))
            }
        // VERSION, WATCH, DEVICE and classes of later versions.
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

    /// Returns the horizontal accuracy in metres; `nil` if neither the report nor a `SKY` of the last ``patience``
    /// gives one.
    ///
    /// `eph`, or `epx` and `epy` combined, count as 68 %, although gpsd_json(5) calls their certainty unknown and gpsd
    /// computes its own values for 95 %. So a fix can be more accurate than assumed, and then a state is kept too long,
    /// not too short (rule G2). Without them, the last dilution of precision is used, times
    /// ``GPXPoint/accuracyUnlessSet``.
    private func accuracy(_ report: GPSDReport, at now: Instant) -> Double? {
        if let error = report.number("eph") { return error }
        if let x = report.number("epx"), let y = report.number("epy"), x >= 0, y >= 0 {
            return (x * x + y * y).squareRoot()
        }
        guard let dilution, now - dilution.time <= Self.patience else { return nil }
        return dilution.value * GPXPoint.accuracyUnlessSet
    }
}
