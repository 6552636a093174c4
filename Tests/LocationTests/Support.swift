import BaseTypes
import BeaconMonitoring
import EventLoops
import Foundation
import Location
import TestSupport

/// Returns a time on the timeline, in seconds.
func at(_ seconds: Double) -> Instant { Instant(nanoseconds: 1_000_000_000_000 + Int64(seconds * 1e9)) }

/// Returns a place that is this many metres north and east of Vienna's cathedral.
func vienna(north: Double = 0, east: Double = 0) throws -> Coordinate {
    let start = try Coordinate(latitude: 48.2082, longitude: 16.3738)
    return start.destination(azimuth: 0, distance: north).destination(azimuth: 90, distance: east)
}

func fix(_ seconds: Double, north: Double = 0, accuracy: Double = 5) throws -> LocationFix {
    try LocationFix(time: at(seconds), coordinate: vienna(north: north), horizontalAccuracy: accuracy)
}

/// Records the output of a source.
final class Notes: LocationHandler {
    var fixes: [LocationFix] = []
    var changes: [LocationSourceChange] = []
    var noted: (() -> Void)?

    func located(_ fix: LocationFix) {
        fixes.append(fix)
        noted?()
    }

    func changed(_ change: LocationSourceChange, at time: Instant) {
        changes.append(change)
        noted?()
    }

    var reasons: [String] {
        changes.compactMap { if case .unavailable(_, let reason) = $0 { reason } else { nil } }
    }
}

/// Returns a text in which some bytes are changed, removed or doubled.
func mutated(_ text: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var text = text
    for _ in 0..<Int.random(in: 1...6, using: &random) where !text.isEmpty {
        let place = Int.random(in: 0..<text.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: text[place] = UInt8.random(in: 0...255, using: &random)
        case 1: text.remove(at: place)
        case 2: text.insert(text[place], at: place)
        default: text.removeSubrange(place..<min(text.count, place + 20))
        }
    }
    return text
}
