import BluetoothLE
import Foundation

/// Returns the bytes of hexadecimal digits. Spaces are ignored.
func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.filter { !$0.isWhitespace }.map { UInt8($0.hexDigitValue!) }
    precondition(digits.count.isMultiple(of: 2))
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

func hex(_ bytes: some Sequence<UInt8>) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

/// Returns the lines of a fixture in the format JSON Lines.
func fixture<Line: Decodable>(_ name: String, of type: Line.Type) throws -> [Line] {
    let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Fixtures")
    let text = try String(contentsOf: directory.appending(path: name), encoding: .utf8)
    return try text.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
}

/// Returns an AD structure.
func ad(_ type: UInt8, _ data: [UInt8]) -> [UInt8] { [UInt8(data.count + 1), type] + data }

let flags = ad(0x01, [0x06])
let uuidBytes = bytes("F7826DA6 4FA2 4E98 8024 BC5B71E0893E")
/// The data of an iBeacon's manufacturer specific AD structure, written out: company, type, length, UUID, major 100,
/// minor 7, −59 dBm.
let frame: [UInt8] = [0x4C, 0x00, 0x02, 0x15] + uuidBytes + [0x00, 0x64, 0x00, 0x07, 0xC5]
let uuid = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)
let beacon = IBeacon(identity: BeaconIdentity(uuid: uuid, major: 100, minor: 7), measuredPower: -59)

/// Returns the frame of another beacon, which differs only in its minor.
func frame(minor: UInt8) -> [UInt8] { Array(frame[..<23]) + [minor, 0xC5] }

/// Returns the iBeacon in manufacturer specific data.
func decoded(_ manufacturerData: [UInt8]) -> IBeacon? { IBeacon(manufacturerData: manufacturerData.span) }

/// Returns the iBeacons in the AD structures of `payload`, and the error that ended them, if there is one.
func beacons(in payload: [UInt8]) -> (found: [IBeacon], error: ADStructureError?) {
    var structures = ADStructures()
    var found: [IBeacon] = []
    do {
        while let beacon = try structures.nextBeacon(in: payload.span) { found.append(beacon) }
    } catch {
        // The error ends the structures: another call must return `nil`.
        precondition((try? structures.nextBeacon(in: payload.span)) == nil)
        return (found, error)
    }
    return (found, nil)
}

/// One report, with the fields that it has in an HCI event.
struct WireReport {
    var eventType: UInt16 = 0x03
    var addressType: UInt8 = 0x01
    var address: [UInt8] = [0x07, 0x00, 0x00, 0xE5, 0x98, 0xC0]
    var sid: UInt8 = 0xFF
    var rssi: UInt8 = 0xC3
    var data: [UInt8] = []

    var legacy: [UInt8] {
        [UInt8(truncatingIfNeeded: eventType), addressType] + address + [UInt8(data.count)] + data + [rssi]
    }

    var extended: [UInt8] {
        [UInt8(truncatingIfNeeded: eventType), UInt8(eventType >> 8), addressType] + address + [
            0x01, 0x00, sid, 0x7F, rssi, 0, 0,
        ]
            + [0, 0, 0, 0, 0, 0, 0] + [UInt8(data.count)] + data
    }
}

/// Returns an LE Meta event with `parameters`, without the H4 byte.
func metaEvent(_ parameters: [UInt8]) -> [UInt8] { [0x3E, UInt8(parameters.count)] + parameters }
func legacyEvent(_ reports: WireReport...) -> [UInt8] {
    metaEvent([0x02, UInt8(reports.count)] + reports.flatMap(\.legacy))
}
func extendedEvent(_ reports: WireReport...) -> [UInt8] {
    metaEvent([0x0D, UInt8(reports.count)] + reports.flatMap(\.extended))
}

/// Returns the reports of an event, and the error that ended them, if there is one.
func reports(of event: [UInt8]) -> (found: [AdvertisingReport], error: AdvertisingReportError?) {
    var cursor = AdvertisingReports(event: event.span)
    var found: [AdvertisingReport] = []
    do {
        while let report = try cursor.next(in: event.span) { found.append(report) }
    } catch {
        precondition((try? cursor.next(in: event.span)) == nil)
        return (found, error)
    }
    return (found, nil)
}

/// Returns the CRC of an advertising PDU, computed bit by bit as Core Vol 6 Part B §3.1.1 draws it, as the three bytes
/// of a frame.
func crc24(_ pdu: [UInt8]) -> [UInt8] {
    // Position 0 is in bit 0. The polynomial is x²⁴ + x¹⁰ + x⁹ + x⁶ + x⁴ + x³ + x + 1. Data enter with their least
    // significant bit first.
    var register: UInt32 = 0x55_5555
    for byte in pdu {
        for bit in 0..<8 {
            let feedback = (register >> 23 ^ UInt32(byte) >> UInt32(bit)) & 1
            register = register << 1 & 0xFF_FFFF
            if feedback == 1 { register ^= 0x00_065B }
        }
    }
    // The most significant position is sent first, and bytes are filled from their least significant bit.
    var result: [UInt8] = [0, 0, 0]
    for position in 0..<24 where register >> UInt32(23 - position) & 1 == 1 {
        result[position / 8] |= 1 << UInt8(position % 8)
    }
    return result
}

/// Returns a complete frame of the advertising channels.
func linkLayerFrame(type: UInt8, random: Bool = true, _ payload: [UInt8]) -> [UInt8] {
    let pdu = [type | (random ? 0x40 : 0), UInt8(payload.count)] + payload
    return [0xD6, 0xBE, 0x89, 0x8E] + pdu + crc24(pdu)
}
