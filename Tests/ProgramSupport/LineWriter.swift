import Foundation
import Glibc

/// Writes lines of a gateway by hand. The wall clock is the timeline plus `offset` seconds.
package struct LineWriter {
    package var lines: [String] = []
    package var sequence = 0
    package var offset = 1_795_219_200.0
    package var boot = "aaaaaaaa-00000001"
    package var gateway = "g"

    package init() {}

    package static func date(_ seconds: Double) -> String {
        let whole = Int(seconds.rounded(.down))
        var time = time_t(whole)
        var parts = tm()
        gmtime_r(&time, &parts)
        let micro = Int(((seconds - Double(whole)) * 1_000_000).rounded())
        return String(
            format: "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
            parts.tm_hour, parts.tm_min, parts.tm_sec, micro)
    }

    package func date(_ time: Double) -> String { Self.date(offset + time) }

    package mutating func line(_ type: String, _ time: Double, _ body: String) {
        sequence += 1
        lines.append(
            #"{"version":1,"type":"\#(type)","gateway":"\#(gateway)","boot":"\#(boot)","sequence":\#(sequence),\#(body)"#
                .replacing("DATE", with: #""date":"\#(date(time))","monotonic":\#(Int(time * 1_000_000))"#) + "}")
    }

    package static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
    package static let condition = #""condition":{"uuid":"\#(uuid)"}"#

    package mutating func event(
        _ identifier: String, _ state: String, _ time: Double, minor: Int? = nil, seen: Double? = nil
    ) {
        let refinement =
            minor.map { #","refinement":{"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":1,"minor":\#($0)}"# }
            ?? ""
        let sighting =
            seen.map {
                #","sighting":{"rssi":-60,"measuredPower":-59,"adapter":"hci0"},"lastSeen":"\#(date($0))""#
            } ?? ""
        line(
            "event", time,
            #""monitor":"site","identifier":"\#(identifier)","scope":"\#(minor == nil ? "condition" : "beacon")","#
                + #""state":"\#(state)",DATE,\#(Self.condition)\#(refinement)\#(sighting),"diagnostics":[]"#)
    }

    package mutating func visit(
        _ identifier: String, _ time: Double, arrival: Double, departure: Double, minor: Int? = nil,
        reason: String = "exitTimeout"
    ) {
        let refinement =
            minor.map { #","refinement":{"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":1,"minor":\#($0)}"# }
            ?? ""
        line(
            "visit", time,
            #""monitor":"site","identifier":"\#(identifier)","scope":"\#(minor == nil ? "condition" : "beacon")",DATE,"#
                + #"\#(Self.condition)\#(refinement),"arrival":"\#(date(arrival))","departure":"\#(date(departure))","#
                + #""duration":\#(departure - arrival),"sightings":7,"#
                + #""rssi":{"minimum":-80,"mean":-66.7,"maximum":-60},"reason":"\#(reason)""#)
    }

    package mutating func completeVisit(_ identifier: String, _ arrival: Double, _ departure: Double, minor: Int? = nil)
    {
        event(identifier, "satisfied", arrival, minor: minor, seen: arrival)
        event(identifier, "unsatisfied", departure + 30, minor: minor, seen: departure)
        visit(identifier, departure + 30, arrival: arrival, departure: departure, minor: minor)
    }

    package mutating func adapter(_ state: String, _ time: Double, since: Double? = nil, named name: String = "hci0") {
        line(
            "adapter", time, #""adapter":"\#(name)","state":"\#(state)","since":"\#(date(since ?? time))",DATE"#)
    }

    /// Writes that the gateway was started. With `until`, the previous run was alive until that time on this timeline.
    /// If `scans` is true, the adapter scans from the start on.
    package mutating func started(_ time: Double, until: Double? = nil, scans: Bool = true) {
        let alive = until.map { #","until":"\#(date($0))""# } ?? ""
        line("gateway", time, #""state":"started","program":"9.9.9"\#(alive),DATE"#)
        if scans { adapter("listening", time) }
    }

    package mutating func stopped(_ time: Double) {
        line("gateway", time, #""state":"stopped","reason":"asked to end",DATE"#)
    }

    /// Returns the content of the file `alive`.
    package func alive(_ time: Double) -> String {
        #"{"version":2,"type":"alive","gateway":"\#(gateway)","boot":"\#(boot)","sequence":\#(sequence),"#
            + #""date":"\#(date(time))","monotonic":\#(Int(time * 1_000_000))}"# + "\n"
    }

    package mutating func clock(_ time: Double, to offset: Double, synchronized: Bool = true) {
        let before = self.offset
        self.offset = offset
        line(
            "clock", time,
            #""offsetBefore":\#(before),"offsetAfter":\#(offset),"synchronized":\#(synchronized),DATE"#)
    }
}
