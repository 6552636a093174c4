import BaseTypes
import BeaconMonitoring
import BluetoothLE
import OperatorLogging

/// The advertisers in range, for `scan --all`.
///
/// It is a value that gets reports and times. Its bounds are those of ``ReceptionTable``. All advertisers without an
/// address share one entry.
struct AdvertiserTable: Sendable {
    /// The state of an advertiser at one time.
    struct Row: Sendable, Hashable {
        /// The address of the advertiser; `nil` if its reports have none.
        let address: DeviceAddress?
        /// The mean RSSI of the last five seconds in tenths of dBm; `nil` if no report in this time had one.
        let strength: Int?
        /// Reports per second, in tenths.
        let rate: Int
        /// The time since its last report.
        let age: Duration
        /// The number of reports since it was listed.
        let reports: Int
        /// The number of the adapter that received its last report.
        let adapter: Int
        let isConnectable: Bool
        /// The company identifier of its manufacturer specific data.
        let company: UInt16?
        /// The name that it advertises, safe for terminals.
        let name: String?
        /// The iBeacon that it sends.
        let beacon: BeaconIdentity?
    }

    private struct Details: Sendable {
        var adapter: Int
        var isConnectable = false
        var company: UInt16?
        var nameBytes: [UInt8] = []
        var name: String?
        var isNameComplete = false
        var beacon: BeaconIdentity?
    }

    // AD types: Bluetooth Assigned Numbers §2.3.
    private static let shortenedName: UInt8 = 0x08
    private static let completeName: UInt8 = 0x09
    /// The maximum number of bytes of a name that are stored. The Core Specification permits 248 (Vol 3 Part C §12.1).
    static let nameBytesMax = 64

    private var table = ReceptionTable<UInt64, Details>()
    /// The number of reports with malformed data. The structures before the malformed one are used.
    private(set) var malformed = 0

    init() {}

    /// The number of listed advertisers.
    var count: Int { table.entries.count }
    /// The number of reports of advertisers that were not listed because there was no place.
    var unlisted: Int { table.unlisted }

    /// Handles a report and its AD structures.
    mutating func received(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
        let index = table.received(report.packedAddress, report.rssi, at: time) { Details(adapter: adapter) }
        guard let index else { return }
        table[index].adapter = adapter
        // A scan response does not show whether the advertiser is connectable.
        if !report.properties.contains(.scanResponse) {
            table[index].isConnectable = report.properties.contains(.connectable)
        }
        var structures = ADStructures()
        do throws(ADStructureError) {
            while let structure = try structures.next(in: data) { read(structure, data, into: index) }
        } catch {
            malformed &+= 1
        }
    }

    private mutating func read(_ structure: ADStructure, _ data: Span<UInt8>, into index: Int) {
        let bytes = data.extracting(structure.data)
        switch structure.type {
        case ADStructure.manufacturerSpecificData where bytes.count >= 2:
            table[index].company = UInt16(bytes[0]) | UInt16(bytes[1]) << 8
            if let beacon = IBeacon(manufacturerData: bytes) { table[index].beacon = beacon.identity }
        case Self.completeName: note(bytes, isComplete: true, at: index)
        case Self.shortenedName where !table[index].isNameComplete: note(bytes, isComplete: false, at: index)
        default: break
        }
    }

    // Most advertisers repeat the same name, so only a different name is stored.
    private mutating func note(_ bytes: Span<UInt8>, isComplete: Bool, at index: Int) {
        let bytes = bytes.extracting(0..<min(bytes.count, Self.nameBytesMax))
        table[index].isNameComplete = isComplete
        guard !Self.isEqual(table[index].nameBytes, bytes) else { return }
        var name: [UInt8] = []
        for index in 0..<bytes.count { name.append(bytes[index]) }
        table[index].nameBytes = name
        table[index].name = name.isEmpty ? nil : PlainText.safe(name)
    }

    private static func isEqual(_ left: [UInt8], _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        for index in 0..<right.count where left[index] != right[index] { return false }
        return true
    }

    /// Returns the advertisers in range, the strongest first.
    mutating func rows(at now: Instant) -> [Row] {
        table.forget(at: now)
        return table.ordered(at: now) { -$1 }.map { index in
            let entry = table.entries[index]
            return Row(
                address: DeviceAddress(packed: entry.key),
                strength: entry.meter.reading(of: table.window, at: now).tenths,
                rate: entry.meter.rate(at: now), age: max(now - entry.last, .zero), reports: entry.reports,
                adapter: entry.details.adapter, isConnectable: entry.details.isConnectable,
                company: entry.details.company, name: entry.details.name, beacon: entry.details.beacon)
        }
    }
}
