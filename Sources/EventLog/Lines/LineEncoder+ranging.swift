public import BeaconMonitoring
import BluetoothLE

// The `ranging` line: qos 0, so without a number of its own.
extension LineEncoder {
    // An octet of RSSI can't come to more: 10,000 km.
    private static let metresMax = 1e7

    /// Appends the line of who is in view of a condition.
    ///
    /// - Parameters:
    ///   - ranging: who is in view.
    ///   - monitor: the monitor's name.
    ///   - identifier: the condition's identifier.
    ///   - buffer: where it is appended.
    public func encode(
        _ ranging: Ranging, monitor: String, identifier: String, into buffer: inout LineBuffer
    ) {
        beginUnnumbered("ranging", identifier, into: &buffer)
        buffer.append(",\"monitor\":\"")
        buffer.append(escaped: monitor)
        buffer.append("\",\"identifier\":\"")
        buffer.append(escaped: identifier)
        buffer.append(octet: UInt8(ascii: "\""))
        appendTime(ranging.time, ranging.clockOffset, into: &buffer)
        append(.beacon(ranging.condition), into: &buffer)
        buffer.append(",\"beacons\":[")
        for (index, beacon) in ranging.beacons.enumerated() {
            if index > 0 { buffer.append(octet: UInt8(ascii: ",")) }
            append(beacon, into: &buffer)
        }
        buffer.append(octet: UInt8(ascii: "]"))
        end(&buffer)
    }

    private func append(_ ranged: RangedBeacon, into buffer: inout LineBuffer) {
        buffer.append("{\"uuid\":\"")
        buffer.append(ranged.beacon.uuid)
        buffer.append("\",\"major\":")
        buffer.append(Int(ranged.beacon.major))
        buffer.append(",\"minor\":")
        buffer.append(Int(ranged.beacon.minor))
        if let rssi = ranged.rssi {
            buffer.append(",\"rssi\":")
            append(tenths: Self.whole(rssi * 10, most: 10_000), into: &buffer)
        }
        buffer.append(",\"proximity\":\"")
        buffer.append(ranged.proximity.word)
        buffer.append(octet: UInt8(ascii: "\""))
        if let accuracy = ranged.accuracy {
            buffer.append(",\"accuracy\":")
            // Centimetres, as millionths of what is printed.
            buffer.append(seconds: Int64(Self.whole(min(accuracy, Self.metresMax) * 100, most: 2_000_000_000)) * 10_000)
        }
        buffer.append(",\"count\":")
        buffer.append(ranged.count)
        buffer.append(octet: UInt8(ascii: "}"))
    }

    /// The nearest whole number, half away from zero, and none where there is no number.
    private static func whole(_ number: Double, most: Double) -> Int {
        number.isNaN ? 0 : Int(min(max(number, -most), most).rounded())
    }

    /// Appends a number of tenths, with its decimal (rule P3).
    private func append(tenths: Int, into buffer: inout LineBuffer) {
        if tenths < 0 { buffer.append(octet: UInt8(ascii: "-")) }
        buffer.append(Int(tenths.magnitude / 10))
        buffer.append(octet: UInt8(ascii: "."))
        buffer.append(Int(tenths.magnitude % 10))
    }
}

extension Proximity {
    /// The word as lines spell it.
    var word: StaticString {
        switch self {
        case .immediate: "immediate"
        case .near: "near"
        case .far: "far"
        case .unknown: "unknown"
        }
    }
}
