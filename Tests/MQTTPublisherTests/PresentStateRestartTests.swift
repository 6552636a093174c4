import EventLog
import Foundation
import TestSupport
import Testing

@testable import BeaconMonitoring
@testable import MQTTPublisher

/// The stored state over restarts, and the effect of options that changed meanwhile.
@Suite struct PresentStateRestartTests {
    /// Returns a simulation run that was published to a broker. It has a condition `staff`, with one beacon in view and
    /// one that has exited, and a condition `door "2"`.
    private func published(_ options: PresentStateOptions) throws -> (PresentFixture, PresentState, RetainingBroker) {
        var (fixture, state, broker) = (try PresentFixture(), PresentState(options), RetainingBroker())
        try fixture.add("staff", perBeacon: true, at: 1)
        try fixture.add("door \"2\"", .everyOther, assuming: .unsatisfied, at: 1)
        fixture.sighted(.badge(8), at: 2)
        for second in 3..<60 { fixture.sighted(.badge(7), at: Double(second)) }
        state.follow(fixture)
        state.deliver(to: &broker)
        return (fixture, state, broker)
    }

    @Test func `the same state gives the same bytes, and a restored state continues like the original`() throws {
        let options = try PresentOptions.make()
        var (fixture, state, broker) = try published(options)
        let encoded = state.encoded
        #expect(encoded == state.encoded)
        var read = try PresentState(options, decoding: encoded)
        #expect(read.encoded == encoded && read.sequence == state.sequence && !read.hasChanges)
        #expect(JSONSerialization.isValidJSONObject(try presentObject(String(decoding: encoded, as: UTF8.self))))
        var other = broker
        fixture.advance(to: 100)
        try fixture.remove("door \"2\"", at: 101)
        state.follow(fixture)
        read.follow(fixture)
        #expect(read.encoded == state.encoded)
        state.deliver(to: &broker)
        read.deliver(to: &other)
        #expect(other.retained == broker.retained && read.encoded == state.encoded)
    }

    @Test func `messages that were not acknowledged are published again by the next process`() throws {
        let options = try PresentOptions.make()
        var (fixture, state, broker) = try published(options)
        fixture.advance(to: 100)
        try fixture.remove("door \"2\"", at: 101)
        state.follow(fixture)
        var publications: [Publication] = []
        state.nextChanges(100, into: &publications)
        var read = try PresentState(options, decoding: state.encoded)
        var again: [Publication] = []
        read.nextChanges(100, into: &again)
        #expect(Set(again) == Set(publications))
        for publication in again { broker.receive(publication) }
        #expect(broker.topics("door").isEmpty && broker.topics("/state/staff/").isEmpty)
    }

    @Test func `a new prefix or gateway name clears all old topics, including availability and status`() throws {
        let (_, state, before) = try published(PresentOptions.make())
        for (prefix, gateway) in [("beacons", "reception"), ("site/beacons", "lobby")] {
            let options = try PresentOptions.make(gateway: gateway, prefix: prefix)
            var broker = before
            for name in ["availability", "status"] {
                broker.receive(
                    Publication(
                        topic: "beacons/lobby/\(name)", payload: Array("x".utf8), quality: .atLeastOnce,
                        isRetained: true))
            }
            var read = try PresentState(options, decoding: state.encoded)
            #expect(read.hasChanges)
            // The process is killed before its first message. The next one must still know the old topics.
            read = try PresentState(options, decoding: read.encoded)
            read.deliver(to: &broker)
            #expect(broker.topics("beacons/lobby/").allSatisfy { $0.hasPrefix("site/") })
            #expect(broker.topics("\(prefix)/\(gateway)/").count == before.topics("beacons/lobby/").count)
            #expect(!broker.topics("homeassistant/").isEmpty)
            #expect(broker.topics("homeassistant/") == before.topics("homeassistant/"))
            for topic in broker.topics("homeassistant/") {
                #expect(broker.retained[topic]?.contains("\(prefix)/\(gateway)/availability") ?? false)
                #expect(!(broker.retained[topic]?.contains("beacons/lobby/") ?? true) || prefix.hasPrefix("site"))
            }
            // After a change back, no topic of the other name is left, and no topic of the first one is cleared.
            var back = try PresentState(PresentOptions.make(), decoding: read.encoded)
            back.deliver(to: &broker)
            #expect(broker.topics().filter { !$0.hasPrefix("homeassistant/") } == before.topics("beacons/lobby/"))
        }
    }

    @Test func `a gateway that is renamed and renamed back after one message clears no topic in use`() throws {
        let options = try PresentOptions.make()
        let (_, state, before) = try published(options)
        var read = try PresentState(PresentOptions.make(gateway: "reception"), decoding: state.encoded)
        var publications: [Publication] = []
        read.nextChanges(1, into: &publications)
        var broker = before
        for publication in publications { broker.receive(publication) }
        var back = try PresentState(options, decoding: read.encoded)
        back.deliver(to: &broker)
        #expect(broker.retained == before.retained)
    }

    @Test func `disabling Home Assistant clears its topics, and enabling it publishes them again`() throws {
        let (_, state, before) = try published(PresentOptions.make())
        let off = try PresentOptions.make(homeAssistant: false)
        var (read, broker) = (try PresentState(off, decoding: state.encoded), before)
        read.deliver(to: &broker)
        #expect(broker.topics("homeassistant/").isEmpty && broker.topics("/tracker/").isEmpty)
        #expect(broker.topics("/state/") == before.topics("/state/"))
        var on = try PresentState(PresentOptions.make(), decoding: read.encoded)
        on.deliver(to: &broker)
        // Except for the tracker of the beacon that had exited, because it is not stored any more.
        #expect(
            Set(before.topics()).subtracting(broker.topics()).allSatisfy { $0.contains("100_-8") || $0.hasSuffix("/8") }
        )
        #expect(broker.topics("device_tracker").count == 1)
    }

    @Test func `a new discovery prefix moves all entities, and a new version of the program updates them`() throws {
        var options = try PresentOptions.make()
        let (_, state, before) = try published(options)
        options.homeAssistant?.prefix = "ha/discovery"
        var (read, broker) = (try PresentState(options, decoding: state.encoded), before)
        read.deliver(to: &broker)
        #expect(broker.topics("homeassistant/").isEmpty)
        #expect(broker.topics("ha/discovery/").count == before.topics("homeassistant/").count)
        options.version = "2.0.0"
        var newer = try PresentState(options, decoding: read.encoded)
        newer.deliver(to: &broker)
        #expect(broker.topics("ha/").allSatisfy { broker.retained[$0]?.contains(#""sw_version":"2.0.0""#) ?? false })
    }

    @Test func `a beacon that was published but not stored before new options is cleared under the old ones`() throws {
        var (fixture, state, broker) = try published(PresentOptions.make())
        let kept = state.encoded
        fixture.sighted(.badge(9), at: 61)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(broker.topics("_-100_-9/").count == 1)
        var read = try PresentState(PresentOptions.make(homeAssistant: false), decoding: kept)
        read.follow(fixture)
        read.deliver(to: &broker)
        #expect(broker.topics("homeassistant/").isEmpty && broker.topics("/tracker/").isEmpty)
        #expect(broker.topics("/state/").contains { $0.hasSuffix("/9") })
    }

    @Test(arguments: [
        "", "{}", "[]", "null", #"{"version":1}"#, #"{"version":0,"sequence":1}"#,
        #"{"version":1,"sequence":-1,"key":"k","prefix":"p","gateway":"g","program":"","conditions":[]}"#,
        #"{"version":1,"sequence":1,"key":"","prefix":"p","gateway":"g","program":"","conditions":[]}"#,
        #"{"version":1,"sequence":1,"key":"k","prefix":"p","gateway":"a/b","program":"","conditions":[]}"#,
        #"{"version":1,"sequence":1,"key":"k","prefix":"p","gateway":"g","program":"","conditions":[{}]}"#,
        #"{"version":1,"sequence":1,"key":"k","prefix":"p","gateway":"g","conditions":[{"identifier":"a/b"}]}"#,
    ])
    func `damaged data and a later format are refused, with a remedy`(text: String) throws {
        let options = try PresentOptions.make()
        #expect(throws: PresentStateError.damaged) { try PresentState(options, decoding: Array(text.utf8)) }
        #expect(throws: PresentStateError.newerVersion(2)) {
            try PresentState(options, decoding: Array(#"{"version":2}"#.utf8))
        }
        #expect("\(PresentStateError.damaged)".contains("delete it"))
        #expect("\(PresentStateError.newerVersion(2))".contains("format 2"))
    }

    @Test func `a stored state that is cut off is refused, and one with random changes never traps`() throws {
        let options = try PresentOptions.make()
        let (_, state, _) = try published(options)
        let encoded = state.encoded
        for length in stride(from: 0, to: encoded.count - 1, by: 7) {
            #expect(throws: PresentStateError.self) { try PresentState(options, decoding: Array(encoded[..<length])) }
        }
        var random = SeededGenerator(state: SeededGenerator.seed)
        for _ in 0..<300 {
            var bytes = encoded
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0x20...0x7E, using: &random)
            }
            guard var read = try? PresentState(options, decoding: bytes) else { continue }
            var publications: [Publication] = []
            read.nextChanges(100, into: &publications)
            _ = read.encoded
        }
    }
}
