import BaseTypes
import BluetoothLE
import Foundation
import SiteMonitoring
import Testing

/// Batches that were stored when their format was introduced. Each later version must be able to read the batches in a
/// log.
@Suite struct StoredBatchTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Fixtures/batches-1")

    @Test(arguments: ["empty", "whole", "last"])
    func `a stored batch of version 1 is read as the same batch, and encoded to the same bytes`(name: String) throws {
        let batch = try Self.batch(name)
        let file = Self.folder.appending(path: "\(name).batch")
        if ProcessInfo.processInfo.environment["BEACON_KEEP_BATCHES"] != nil {
            // An existing file must not change, because it was written by the version that introduced the format.
            try Data(batch.bytes).write(to: file, options: .withoutOverwriting)
        }
        let bytes = [UInt8](try Data(contentsOf: file))
        #expect(try Batch(bytes: bytes) == batch)
        #expect(batch.bytes == bytes)
    }

    private static func batch(_ name: String) throws -> Batch {
        let lobby = try Batch.Adapter(
            name: "hci0", address: DeviceAddress(0x00AA_0100_0002, kind: .public), isListening: true,
            reports: Batch.Adapter.Reports(first: at(12.01), last: at(12.98)))
        let stick = try Batch.Adapter(name: "Küche", address: nil, isListening: false, reports: nil)
        let badge = advertiser(7, address: DeviceAddress(0xC098_E500_0007, kind: .random))
        let sightings = [
            Batch.Sighting(at: at(12.01), adapter: 0, badge, rssi: RSSI(dBm: -61)),
            Batch.Sighting(at: at(12.31), adapter: 0, advertiser(8, power: -77), rssi: nil),
            Batch.Sighting(at: at(12.31), adapter: 1, badge, rssi: RSSI(dBm: -90)),
        ]
        switch name {
        case "empty": return try makeBatch(from: 0, to: 1_000_000_000, adapters: [], sightings: [])
        case "whole":
            return try makeBatch(
                from: 12_000_000_000, to: 13_000_000_000, adapters: [lobby, stick],
                changes: [
                    Batch.Change(.started, adapter: 1, at: at(12.3)),
                    Batch.Change(.stopped(since: at(12.31)), adapter: 1, at: at(12.5), reason: "it was unplugged"),
                    Batch.Change(.removed, adapter: 1, at: at(12.6), reason: ""),
                ], sightings: sightings)
        default:
            // The limits of numbers.
            let span = try Batch.Span(
                from: .latest, completeTo: .latest, cut: .latest, wall: .latest, isStart: false)
            return try Batch(
                site: LogName(String(repeating: "s", count: 64)),
                key: BatchKey(gateway: LogName("g"), boot: .max, sequence: .max), span: span, adapters: [])
        }
    }
}
