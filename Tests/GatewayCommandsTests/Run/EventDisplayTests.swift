import BaseTypes
import BeaconMonitoring
import BluetoothLE
import EventLoops
import Foundation
import GatewayConfiguration
import ProgramSupport
import SystemPackage
import Testing

@testable import GatewayCommands

/// The short lines of a running gateway on a terminal that does not accept them.
@Suite struct EventDisplayTests {
    private static func event(_ second: Int) -> Action {
        .event(
            BeaconMonitor.Event(
                monitor: "site", identifier: "staff-\(second)", scope: .condition, state: .satisfied,
                time: Instant(nanoseconds: Int64(second) * 1_000_000_000), clockOffset: .zero,
                condition: .beacon(uuid: badge(1).uuid),
                refinement: nil, previous: nil, sighting: nil, lastSeen: nil, diagnostics: []))
    }

    @Test func `a stopped terminal does not stop the gateway; later it shows the number of events that are missing`()
        throws
    {
        let (reading, writing) = try FileDescriptor.pipe()
        let loop = try EventLoop()
        let display = try EventDisplay(writing, BeaconNames(), on: loop)
        // About 380 KB: more than the pipes and the display hold together.
        let count = 10_000
        for second in 0..<count { display.show(Self.event(second)) }
        // Now the reader accepts everything. The loop writes the waiting lines, and the number of missing ones without
        // a further event.
        var bytes: [UInt8] = []
        let timer = loop.makeTimer { _ in loop.stop() }
        for _ in 0..<10_000 where !bytes.suffix(6).elementsEqual("them)\n".utf8) {
            loop.set(timer, at: loop.now)
            try loop.run()
            guard waitUntilReadable(reading.rawValue, milliseconds: 10) else { continue }
            bytes += readAvailable(reading)
        }
        display.show(Self.event(count))
        display.show(Self.event(count + 1))
        display.close()
        try writing.close()
        let text = String(decoding: bytes + readAvailable(reading), as: UTF8.self)
        let lines = text.split(separator: "\n").map(String.init)
        let notices = lines.filter { $0.hasPrefix("(") }
        try #require(notices.count == 1)
        let missing = try #require(Int(notices[0].dropFirst().prefix { $0.isNumber }))
        #expect(notices == ["(\(missing) more, not shown because the terminal did not accept them)"])
        let shown = lines.filter { $0.contains("is present") }
        #expect(shown.count + missing == count + 2)
        #expect(shown.count < count && shown.count > 1500, "\(shown.count)")
        #expect(lines.suffix(1) == [shown.last ?? ""] && shown.last?.contains("staff-\(count + 1)") == true)
        // The date is repeated after the missing lines.
        #expect(lines.count(where: { $0.hasPrefix("1970-01-01 (") }) == 2)
        try reading.close()
    }

    @Test func `a terminal with room for a part of a line does not stop the gateway`() throws {
        let terminal = try PseudoTerminal(columns: 80, rows: 24)
        let display = try EventDisplay(terminal.slave, BeaconNames(), on: try EventLoop())
        for second in 0..<10_000 { display.show(Self.event(second)) }
        display.close()
    }

    @Test func `a visit that a reload ends is shown with the name that the beacon had`() throws {
        let folder = try Scratch()
        try DaemonFixture.write(
            "beacons: [{name: Ada, uuid: \(DaemonFixture.uuid), major: 1, minor: 1}]\nmonitor: {per_beacon: true}",
            in: folder)
        let (reading, writing) = try FileDescriptor.pipe()
        let fixture = try DaemonFixture(folder, showingEventsOn: writing)
        fixture.appear(0, DeviceAddress(0x00AA_0100_0001, kind: .public))
        fixture.scanner.receive(badge(1))
        fixture.finishTurn()
        try DaemonFixture.write("monitor: {per_beacon: true, unnamed: refuse}", in: folder)
        fixture.daemon.reload()
        fixture.finishTurn()
        fixture.daemon.close()
        try writing.close()
        let lines = String(decoding: readAvailable(reading), as: UTF8.self).split(separator: "\n").dropFirst()
        let texts = lines.map { $0.dropFirst("00:00:00  ".count) }
        #expect(
            texts == [
                "staff is present  Ada, −60 dBm", "Ada arrived (staff)  −60 dBm",
                "Ada: visit ended (staff)  the condition was removed, or no longer includes it",
            ], "\(lines)")
        try reading.close()
    }

    @Test func `only events, and visits that end without one, are shown`() throws {
        let (reading, writing) = try FileDescriptor.pipe()
        let display = try EventDisplay(writing, BeaconNames(), on: try EventLoop())
        func visit(_ reason: Visit.Reason) -> Action {
            .visit(
                Visit(
                    monitor: "site", identifier: "staff", scope: .beacon, time: Instant(nanoseconds: 0),
                    clockOffset: .zero,
                    condition: .beacon(uuid: badge(1).uuid), refinement: badge(1), arrival: nil, departure: nil,
                    sightings: 0, strength: nil, reason: reason))
        }
        display.show(.adapterNamed(AdapterID(index: 0), name: "hci0"))
        display.show(.trackingLimitExceeded(identifier: "staff", .held))
        display.show(visit(.exitTimeout))
        display.show(visit(.displaced))
        display.close()
        try writing.close()
        let lines = String(decoding: readAvailable(reading), as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 2 && lines.last?.contains("1/1: visit ended (staff)") == true, "\(lines)")
        try reading.close()
    }
}
