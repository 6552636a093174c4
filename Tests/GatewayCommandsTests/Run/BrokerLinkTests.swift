import BaseTypes
import EventLoops
import Foundation
import GatewayConfiguration
import PublisherProtocol
import Testing

@testable import GatewayCommands

/// Publication of the gateway's status to a broker, with a clock that the test sets.
@Suite struct BrokerLinkTests {
    private final class Clock { var now = Instant(nanoseconds: 1_000_000_000_000) }

    /// A link whose publisher process cannot be started.
    private final class Desk {
        let clock = Clock()
        let loop: EventLoop
        private(set) var link: BrokerLink?
        var reported = 0

        init() throws {
            let clock = clock
            loop = try EventLoop { clock.now }
            var mqtt: MQTTConfiguration?
            let text =
                "mqtt: {host: 127.0.0.1}\nconditions:\n- {identifier: a, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}\n"
            mqtt = try Configuration.parse(Array(text.utf8), file: "c.yaml").get().mqtt
            link = BrokerLink(
                try #require(mqtt), executable: "/nowhere/publisher", on: loop,
                settings: { _ in
                    PublisherSettings(
                        directory: "/nowhere", checkpoint: "/nowhere/c", host: "127.0.0.1", port: 1883, clientID: "c")
                },
                status: { [unowned self] in
                    reported += 1
                    return "{}\n"
                }, log: { _, _ in })
            link?.start(durable: 0)
        }

        func turn(after duration: Duration = .zero) throws {
            clock.now = clock.now + duration
            try loop.turn(waits: false)
        }

        func end() { link = nil }
    }

    @Test func `the first scanning adapter is reported at once, later changes together after 1 s`() throws {
        let desk = try Desk()
        try desk.turn()
        #expect(desk.reported == 0, "no adapter was reported yet")
        desk.link?.note(listening: [0])
        try desk.turn()
        #expect(desk.reported == 1)
        desk.link?.note(listening: [])
        desk.link?.note(listening: [1])
        try desk.turn(after: .milliseconds(999))
        #expect(desk.reported == 1)
        try desk.turn(after: .milliseconds(1))
        #expect(desk.reported == 2)
        // An unchanged list of adapters is not reported.
        desk.link?.note(listening: [1])
        try desk.turn(after: .seconds(2))
        #expect(desk.reported == 2)
    }

    @Test func `if no adapter scans, the status is sent after 10 s, then each minute`() throws {
        let desk = try Desk()
        desk.link?.note(listening: [])
        try desk.turn(after: .milliseconds(9_999))
        #expect(desk.reported == 0)
        try desk.turn(after: .milliseconds(1))
        // The timer of 10 s only sets the timer of the status, which fires in the next turn.
        try desk.turn()
        #expect(desk.reported == 1)
        try desk.turn(after: .milliseconds(59_999))
        #expect(desk.reported == 1)
        try desk.turn(after: .milliseconds(1))
        #expect(desk.reported == 2)
    }

    @Test func `if the publisher cannot be started, the status reports it, and no line counts as published`() throws {
        let desk = try Desk()
        try desk.turn()
        let link = try #require(desk.link)
        #expect(link.released == 0)
        let page = link.page(durable: 7)
        #expect(page.hasPrefix("broker\n  127.0.0.1:1883: "))
        #expect(page.contains("published up to line 0, 7 waiting"))
        #expect(page.contains("/nowhere/publisher"), "\(page)")
        desk.end()
        try desk.turn(after: .seconds(120))
        #expect(desk.reported == 0, "a link that was removed must not send a status")
    }
}
