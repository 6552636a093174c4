import BaseTypes
import BeaconMonitoring
import EventLog
import JSON
import SiteMonitoring

/// One engine that receives sightings directly, without a log.
enum DirectEngine {
    /// Returns the lines for gateways that scan from the start of their first batch on, up to the latest time to which
    /// a batch is complete.
    static func lines(of batches: [Batch], exit: Int) throws -> [String] {
        struct Input {
            var time: Instant
            var gateway: String
            var sequence: UInt64
            var index: Int
            // `nil` if the adapter starts to scan.
            var sighting: Batch.Sighting?
        }
        var inputs: [Input] = []
        var end = Instant.earliest
        for batch in batches {
            let offset = Duration.nanoseconds(batch.span.wall.nanoseconds - batch.span.cut.nanoseconds)
            end = max(end, batch.span.completeTo + offset)
            let (gateway, sequence) = (batch.key.gateway.description, batch.key.sequence)
            if sequence == 1 {
                inputs.append(Input(time: batch.span.from + offset, gateway: gateway, sequence: 1, index: -1))
            }
            for (index, sighting) in batch.sightings.enumerated() {
                inputs.append(
                    Input(
                        time: sighting.time + offset, gateway: gateway, sequence: sequence, index: index,
                        sighting: sighting))
            }
        }
        inputs.sort { ($0.time, $0.gateway, $0.sequence, $0.index) < ($1.time, $1.gateway, $1.sequence, $1.index) }
        guard let start = inputs.first?.time else { return [] }
        let setup = try WatchedSetup().setup(Array("exit \(exit)".utf8))
        var engine = MonitorEngine(settings: setup.settings, start: start)
        var actions = ActionBuffer()
        try engine.begin(setup.monitors, from: nil, at: start, into: &actions)
        for input in inputs {
            let adapter = try engine.adapter(named: "\(input.gateway)/hci0", at: input.time, into: &actions)
            if let sighting = input.sighting {
                engine.sighted(
                    Sighting(
                        time: input.time, adapter: adapter, beacon: sighting.advertiser.beacon,
                        measuredPower: sighting.advertiser.measuredPower, rssi: sighting.rssi), into: &actions)
            } else {
                engine.listening(ListeningChange(.started, adapter: adapter), at: input.time, into: &actions)
            }
        }
        engine.advance(to: end, into: &actions)
        var options = LineEncoder.Options(gateway: try Identifier("hall"))
        options.envelope = false
        var encoder = LineEncoder(options)
        var buffer = LineBuffer()
        for action in actions.actions { encoder.encode(action, into: &buffer) }
        return buffer.text.split(separator: "\n").map { $0 + "\n" }
    }
}
