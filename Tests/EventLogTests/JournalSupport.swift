import BaseTypes
import BluetoothLE
import Foundation
import JSON
import SystemPackage

@testable import BeaconMonitoring
@testable import EventLog

/// A folder for the files of one test. It is deleted with this value.
final class Folder {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("journal-\(UUID().uuidString)").path

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The event files, in the order of their lines.
    var segments: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path + "/events")) ?? [])
            .filter { $0.hasPrefix("events-") }.sorted()
    }

    func read(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(fileURLWithPath: path + "/" + name)), as: UTF8.self)
    }

    func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path + "/" + name))
    }

    /// All lines of all event files.
    var lines: [String] {
        get throws { try segments.flatMap { try read("events/" + $0).split(separator: "\n").map(String.init) } }
    }

    /// The numbers of all lines that have one, and −1 for a line that is not JSON.
    var numbers: [Int] {
        get throws {
            try lines.compactMap { line in
                var text = JSONText(Array(line.utf8))
                guard text.parse() else { return -1 }
                return text.integer(text.find("sequence", in: text.find("payload", in: 0) ?? 0))
            }
        }
    }
}

extension Instant {
    static let start = Instant(nanoseconds: 1_000_000_000_000)
}

/// The offset with which the time `start` is 2026-11-21T00:00:00Z.
let startOffset = ClockOffset(nanoseconds: 1_795_219_200_000_000_000 - Instant.start.nanoseconds)

extension Journal {
    /// Opens a journal in a folder, with an adapter `hci0`.
    convenience init(
        in folder: Folder, files: any FileSystemCalls = SystemFiles(), machine: String = "aaaaaaaa",
        process: UInt32 = 1, at now: Instant = .start, offset: ClockOffset = startOffset, synchronized: Bool = true,
        _ change: (inout JournalOptions) -> Void = { _ in }
    ) throws {
        var options = JournalOptions(
            directory: FilePath(folder.path + "/events"), stateDirectory: FilePath(folder.path + "/state"),
            gateway: try Identifier("lobby"))
        options.envelope = false
        change(&options)
        try self.init(
            options, boot: BootID(machine: machine, process: process), now: now, clockOffset: offset,
            isClockSynchronized: synchronized, files: files)
        name(Sample.adapter, "hci0")
    }

    /// Appends an event of a condition and commits it.
    func event(_ identifier: String = "staff", _ state: BeaconMonitor.Event.State = .satisfied, at seconds: Int) {
        append(.event(Sample.event(identifier, state, at: seconds)))
        commit(at: .start + .seconds(seconds))
    }
}

extension Sample {
    static func event(_ identifier: String = "staff", _ state: BeaconMonitor.Event.State = .satisfied, at seconds: Int)
        -> BeaconMonitor.Event
    {
        var event = Sample.event
        event.identifier = identifier
        event.scope = .condition
        event.state = state
        event.time = .start + .seconds(seconds)
        event.clockOffset = startOffset
        event.lastSeen = event.time
        event.sighting?.time = event.time
        // A line does not contain the type of the address.
        event.sighting?.address = DeviceAddress(0xC098_E500_0007, kind: .unspecified)
        if state != .satisfied { event.refinement = nil }
        return event
    }
}
