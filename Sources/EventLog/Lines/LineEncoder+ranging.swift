package import BeaconMonitoring
package import JSON

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
    package func encode(
        _ ranging: Ranging, monitor: String, identifier: String, into buffer: inout LineBuffer
    ) {
        envelope("ranging", identifier, qos: 0, into: &buffer) { buffer in
            writeHead("ranging", into: &buffer)
            buffer.write("monitor", monitor)
            buffer.write("identifier", identifier)
            buffer.write(ranging.time, ranging.clockOffset)
            buffer.write(.beacon(ranging.condition))
            buffer.objects("beacons", ranging.beacons) { Self.write($1, into: &$0) }
        }
    }

    private static func write(_ ranged: RangedBeacon, into buffer: inout LineBuffer) {
        buffer.write(ranged.beacon)
        if let rssi = ranged.rssi {
            buffer.key("rssi")
            buffer.append(tenths: whole(rssi * 10, most: 10_000))
        }
        buffer.write("proximity", word: ranged.proximity.word)
        if let accuracy = ranged.accuracy {
            // Centimetres, as millionths of what is printed.
            let centimetres = whole(min(accuracy, metresMax) * 100, most: 2_000_000_000)
            buffer.write("accuracy", millionths: Int64(centimetres) * 10_000)
        }
        buffer.write("count", ranged.count)
    }

    /// The nearest whole number, half away from zero, and none where there is no number.
    private static func whole(_ number: Double, most: Double) -> Int {
        number.isNaN ? 0 : Int(min(max(number, -most), most).rounded())
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
