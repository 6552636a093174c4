import Foundation
import TestSupport

/// Lines of the advertisement log, as a person writes them.
package enum Log {
    package static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"

    /// Returns a sighting. `time` is written unchanged.
    package static func sighting(_ time: String, adapter: String? = nil, minor: Int = 1, uuid: String = uuid) -> String
    {
        let adapter = adapter.map { #""adapter":"\#($0)","# } ?? ""
        return
            #"{"time":\#(time),\#(adapter)"rssi":-60,"uuid":"\#(uuid)","major":1,"minor":\#(minor),"measuredPower":-59}"#
    }

    /// Returns a report without an iBeacon.
    package static func report(_ time: String, adapter: String = "hci0") -> String {
        #"{"time":\#(time),"adapter":"\#(adapter)","data":""}"#
    }

    package static func listening(_ isListening: Bool, _ time: String, adapter: String = "hci0") -> String {
        #"{"time":\#(time),"adapter":"\#(adapter)","listening":\#(isListening)}"#
    }

    /// A configuration with a condition for the one UUID, initially `unsatisfied`.
    package static let configuration = """
        conditions:
          - identifier: staff
            uuid: \(uuid)
            assuming: unsatisfied
        """
}

extension Scratch {
    package func log(_ name: String, _ lines: [String]) throws -> String {
        try write(name, lines.map { $0 + "\n" }.joined())
    }
}

/// The result of a replay in short form: seconds, identifier or adapter, and change.
package struct ShortLines: Equatable {
    package var lines: [String] = []

    package init(_ lines: [String], _ types: String...) throws {
        for payload in try payloads(lines) where types.contains(payload["type"] as? String ?? "") {
            let name = payload["identifier"] as? String ?? payload["adapter"] as? String ?? ""
            let time = Double(payload["monotonic"] as? Int64 ?? -1) / 1_000_000
            let change =
                payload["state"] as? String ?? payload["reason"] as? String ?? payload["change"] as? String ?? ""
            self.lines.append("\(time) \(name) \(change)")
        }
    }
}

/// The bytes of a btsnoop file of the Linux monitor, as RFC 1761 and BlueZ define them.
package struct MonitorCapture {
    package private(set) var bytes: [UInt8] = Array("btsnoop\0".utf8) + [0, 0, 0, 1, 0, 0, 0x07, 0xD1]

    /// The times of the records, in seconds.
    package private(set) var times: [Double] = []

    package init() {}

    package mutating func record(_ opcode: UInt16, at seconds: Double, index: UInt16 = 0, _ payload: [UInt8] = []) {
        times.append(seconds)
        func append(_ number: some FixedWidthInteger) {
            withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        }
        append(UInt32(payload.count))
        append(UInt32(payload.count))
        append(UInt32(index) << 16 | UInt32(opcode))
        append(UInt32(0))
        append(Int64(0x00DC_DDB3_0F2F_8000) + Int64(seconds * 1_000_000))
        bytes += payload
    }

    /// Returns the address of a controller: 00:AA:01:00:00:0N. For 0, it is all zeros.
    private static func address(_ number: UInt8) -> [UInt8] {
        number == 0 ? [0, 0, 0, 0, 0, 0] : [number, 0, 0, 1, 0xAA, 0]
    }

    /// Returns the payload of New Index.
    package static func newIndex(_ number: UInt8 = 0, _ name: String = "hci0") -> [UInt8] {
        [0, 1] + address(number) + Array(name.utf8) + [UInt8](repeating: 0, count: 8 - name.utf8.count)
    }

    /// Returns the payload of Index Info.
    package static func info(_ number: UInt8) -> [UInt8] { address(number) + [0x5D, 0] }

    /// Returns a capture of three indexes and three controllers with records in random order, and a last report on
    /// another index.
    ///
    /// The first record of an index does not end it, because the other formats name an index only in a record that
    /// starts it.
    package static func random(_ generator: inout SeededGenerator) -> MonitorCapture {
        var capture = MonitorCapture()
        var (time, seen) = (0.0, Set<Int>())
        for _ in 0..<3 + generator.below(12) {
            time += generator.pick([0, 0, 0.5, 1, 1, 2, 3, 7, 18, 45])
            let index = generator.below(3)
            var opcode = generator.pick([0, 1, 2, 3, 3, 3, 8, 9, 10, 10] as [UInt16])
            if seen.insert(index).inserted, opcode == 1 || opcode == 9 { opcode = 10 }
            let payload: [UInt8] =
                switch opcode {
                case 0: newIndex(UInt8(generator.below(4)), "hci\(index)")
                case 2: [0x03, 0x0C, 0x00]
                case 3: event(minor: generator.pick([nil, 1, 1, 2]))
                case 10: info(UInt8(1 + generator.below(3)))
                default: []
                }
            capture.record(opcode, at: time, index: UInt16(index), payload)
        }
        capture.record(3, at: time + generator.pick([0, 4, 30, 80]), index: 5, event(minor: nil))
        return capture
    }

    /// Returns an LE Advertising Report with one report: an iBeacon if `minor` is given, otherwise no data.
    package static func event(minor: UInt8?) -> [UInt8] {
        var data: [UInt8] = []
        if let minor {
            let uuid: [UInt8] = [
                0xF7, 0x82, 0x6D, 0xA6, 0x4F, 0xA2, 0x4E, 0x98, 0x80, 0x24, 0xBC, 0x5B, 0x71, 0xE0, 0x89, 0x3E,
            ]
            data = [26, 0xFF, 0x4C, 0x00, 0x02, 0x15] + uuid + [0, 1, 0, minor, 0xC5]
        }
        let report: [UInt8] = [0x02, 1, 0x03, 0x01, 7, 0, 0, 0xE5, 0x98, 0xC0, UInt8(data.count)] + data + [0xC4]
        return [0x3E, UInt8(report.count)] + report
    }
}
