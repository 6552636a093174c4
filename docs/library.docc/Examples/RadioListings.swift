import BaseTypes
import BeaconMonitoring
import BluetoothLE
import Captures
import Foundation
import Testing

/// The examples in the documentation comments of `BaseTypes`, `BluetoothLE` and `Captures`.
@Suite struct RadioListings {
    private static let time = Instant(nanoseconds: 1_000_000_000_000)
    private static let uuid = staff
    /// The manufacturer data of an iBeacon.
    private static let manufacturerData: [UInt8] =
        [0x4C, 0x00, 0x02, 0x15]
        + [0xF7, 0x82, 0x6D, 0xA6, 0x4F, 0xA2, 0x4E, 0x98, 0x80, 0x24, 0xBC, 0x5B, 0x71, 0xE0, 0x89, 0x3E]
        + [0x00, 0x01, 0x00, 0x07, 0xC5]
    /// Its advertising data: flags and manufacturer data.
    private static let payload: [UInt8] = [0x02, 0x01, 0x06, 0x1A, 0xFF] + manufacturerData
    private static let address: [UInt8] = [0x06, 0x05, 0x04, 0x03, 0x02, 0xC1]
    /// An LE Advertising Report event with one report (Vol 4, Part E, 7.7.65.2).
    private static let event: [UInt8] =
        [0x3E, UInt8(payload.count + 12), 0x02, 0x01, 0x03, 0x01] + address + [UInt8(payload.count)] + payload + [0xC4]

    @Test func `an instant`() {
        let start = Instant(nanoseconds: 1_000_000_000_000)
        let later = start + .seconds(30)
        #expect(later - start == .seconds(30))
    }

    @Test func `a beacon, its UUID and its frame`() {
        let uuid = ProximityUUID("F7826DA6-4FA2-4E98-8024-BC5B71E0893E")
        #expect(uuid == ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E))
        beacon(uuid: Self.uuid, bytes: Self.manufacturerData)
    }

    private func beacon(uuid: ProximityUUID, bytes: [UInt8]) {
        let badge = BeaconIdentity(uuid: uuid, major: 1, minor: 7)
        #expect(badge.description == "F7826DA6-4FA2-4E98-8024-BC5B71E0893E/1/7")
        #expect(BeaconIdentity("F7826DA6-4FA2-4E98-8024-BC5B71E0893E/1/7") == badge)
        let frame = IBeacon(manufacturerData: bytes.span)
        #expect(frame?.identity == badge)
        #expect(frame?.measuredPower == -59)
    }

    @Test func `AD structures`() throws {
        let payload = Self.payload.span
        var found: [Range<Int>] = []
        var structures = ADStructures()
        while let structure = try structures.next(in: payload) {
            if structure.type == ADStructure.manufacturerSpecificData { found.append(structure.data) }
        }
        #expect(found == [5..<30])
    }

    @Test func `advertising reports`() throws {
        let event = Self.event.span
        var strengths: [RSSI?] = []
        var reports = AdvertisingReports(event: event)
        while let report = try reports.next(in: event) {
            strengths.append(report.rssi)
        }
        #expect(strengths == [RSSI(dBm: -60)])
    }

    @Test func `a report decoder`() {
        let event = Self.event.span
        struct Found: ReportHandler {
            var beacons: [BeaconIdentity] = []
            mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {}
            mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {
                beacons.append(beacon.identity)
            }
        }
        var (decoder, found) = (ReportDecoder(), Found())
        decoder.decode(event: event, adapter: 0, time: nil, to: &found)
        decoder.flush(to: &found)
        #expect(found.beacons == [BeaconIdentity(uuid: Self.uuid, major: 1, minor: 7)])
    }

    @Test func `a link-layer PDU`() throws {
        let header: [UInt8] = [0xD6, 0xBE, 0x89, 0x8E, 0x42, UInt8(6 + Self.payload.count)]
        let frame = header + Self.address + Self.payload
        let report = try LinkLayerPDU.advertisingReport(
            of: frame.span, in: 0..<frame.count, rssi: RSSI(dBm: -60), check: .valid)
        #expect(report?.properties == [.legacy])
    }

    @Test func `a batch of frames`() throws {
        let time = Self.time
        var engine = MonitorEngine(start: time)
        var actions = ActionBuffer()
        let adapter = try engine.adapter(named: "hci0", at: time, into: &actions)
        let event = Self.event.span
        var batch = FrameBatch(capacity: 64)
        var counts = FrameBatch.Counts()
        var entries = batch.entries.mutableSpan
        let isTaken = FrameBatch.take(event: event, adapter: 0, time: time, to: &entries, &counts)
        batch.counts = counts
        engine.received(batch, of: [adapter], into: &actions)
        batch.removeAll()
        #expect(isTaken)
    }

    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appending(path: "listings-\(UUID().uuidString)")
        init() throws { try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(at: path) }
    }

    private struct Found: ReportHandler {
        var beacons: [BeaconIdentity] = []
        mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {}
        mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {
            beacons.append(beacon.identity)
        }
    }

    @Test func `a capture is written, read and converted`() throws {
        let folder = try Folder()
        let path = folder.path.appending(path: "lobby.jsonl").path
        let target = folder.path.appending(path: "lobby.btsnoop").path
        try write(path)
        var handler = Found()
        try read(path, to: &handler)
        #expect(handler.beacons == [BeaconIdentity(uuid: Self.uuid, major: 1, minor: 7)])
        try convert(path, to: target)
        try read(target, to: &handler)
        #expect(handler.beacons.count == 2)
        let zone = try #require(TimeZone(identifier: "Europe/Vienna"))
        try read(path, zone: zone)
    }

    private func write(_ path: String) throws {
        let (time, data) = (Self.time, Self.payload)
        var reports = AdvertisingReports(event: Self.event.span)
        let report = try #require(try reports.next(in: Self.event.span))
        var writer = try CaptureWriter(path: path, format: .advertisementLog)
        try writer.write(report, data: data.span, adapter: "hci0", time: time)
        try writer.close()
    }

    private func read(_ path: String, to handler: inout Found) throws {
        var reader = try CaptureReader(.path(path))
        var decoder = ReportDecoder()
        while let record = try reader.next() {
            decoder.decode(record, in: reader.window.span, to: &handler)
        }
        decoder.flush(to: &handler)
        for damage in reader.damages.first { print(damage) }
    }

    private func convert(_ path: String, to target: String) throws {
        var reader = try CaptureReader(.path(path))
        var writer = try CaptureWriter(path: target, format: .btsnoop)
        var converter = CaptureConverter()
        try converter.convert(&reader, to: &writer)
        try writer.close()
        for loss in converter.losses { print(loss) }
    }

    private func read(_ path: String, zone: TimeZone) throws {
        do {
            let vienna = CaptureZone(name: "Europe/Vienna") { seconds in
                Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval(seconds))))
            }
            var reader = try CaptureReader(.path(path), options: CaptureOptions(zone: vienna))
            _ = try reader.next()
        }
        let fields = try FieldMap("adapter=scannerID,measuredPower=calibratedPower|power")
        var reader = try CaptureReader(.path(path), options: CaptureOptions(fields: fields))
        _ = try reader.next()
    }
}
