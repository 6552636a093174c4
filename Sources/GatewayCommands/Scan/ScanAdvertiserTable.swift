import BaseTypes
import BeaconMonitoring
import BluetoothLE
import OperatorLogging

/// Every advertiser in range: what `scan --all` shows.
///
/// A value, driven by reports and time; its bounds are ``HeardTable``'s. Advertisers that give no address are one.
struct AdvertiserTable: Sendable {
    /// An advertiser at a moment.
    struct Row: Sendable, Hashable {
        /// Where it advertises from; absent where reports give no address.
        let address: DeviceAddress?
        /// The mean of the last five seconds in tenths of dBm; absent where none was told in them.
        let strength: Int?
        /// Reports a second, in tenths.
        let rate: Int
        /// How long ago its last report was.
        let age: Duration
        /// All reports since it was listed.
        let reports: Int
        /// The number of the adapter that heard its last report.
        let adapter: Int
        let isConnectable: Bool
        /// The company identifier of its manufacturer specific data.
        let company: UInt16?
        /// The name that it gives, safe for terminals.
        let name: String?
        /// The iBeacon that it sends.
        let beacon: BeaconIdentity?
    }

    private struct Details: Sendable {
        var adapter: Int
        var isConnectable = false
        var company: UInt16?
        var nameOctets: [UInt8] = []
        var name: String?
        var isNameComplete = false
        var beacon: BeaconIdentity?
    }

    // AD types: Bluetooth Assigned Numbers §2.3.
    private static let shortenedName: UInt8 = 0x08
    private static let completeName: UInt8 = 0x09
    /// The most octets of a name that are kept; the Core Specification allows 248 (Vol 3 Part C §12.1).
    static let nameOctetsMax = 64

    private var table = HeardTable<UInt64, Details>()
    /// Reports whose data are malformed; what stands before is read.
    private(set) var malformed = 0

    init() {}

    /// How many advertisers are listed.
    var count: Int { table.entries.count }
    /// Reports of advertisers that found no place.
    var unlisted: Int { table.unlisted }

    /// A report, with its AD structures.
    mutating func heard(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
        let index = table.heard(report.packedAddress, report.rssi, at: time) { Details(adapter: adapter) }
        guard let index else { return }
        table[index].adapter = adapter
        // A scan response says nothing of its own about that.
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
        let octets = data.extracting(structure.data)
        switch structure.type {
        case ADStructure.manufacturerSpecificData where octets.count >= 2:
            table[index].company = UInt16(octets[0]) | UInt16(octets[1]) << 8
            if let beacon = IBeacon(manufacturerData: octets) { table[index].beacon = beacon.identity }
        case Self.completeName: note(octets, isComplete: true, at: index)
        case Self.shortenedName where !table[index].isNameComplete: note(octets, isComplete: false, at: index)
        default: break
        }
    }

    // Most say the same name again and again: only another one is taken over.
    private mutating func note(_ octets: Span<UInt8>, isComplete: Bool, at index: Int) {
        let octets = octets.extracting(0..<min(octets.count, Self.nameOctetsMax))
        table[index].isNameComplete = isComplete
        guard !Self.isEqual(table[index].nameOctets, octets) else { return }
        var name: [UInt8] = []
        for index in 0..<octets.count { name.append(octets[index]) }
        table[index].nameOctets = name
        table[index].name = name.isEmpty ? nil : PlainText.safe(name)
    }

    private static func isEqual(_ left: [UInt8], _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        for index in 0..<right.count where left[index] != right[index] { return false }
        return true
    }

    /// The advertisers in range, the strongest first.
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
