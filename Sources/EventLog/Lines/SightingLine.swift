package import BaseTypes
import BeaconMonitoring
package import BluetoothLE
package import JSON

extension LineBuffer {
    /// Appends one sighting as a flat line of the advertisement log, with its line end; what is not known is absent.
    ///
    /// The date has microseconds, and nanoseconds where there are any, so that the line reads back as the same sighting.
    package mutating func append(
        sighting beacon: IBeacon, time: Instant?, adapter: String, rssi: RSSI?, address: DeviceAddress?
    ) {
        object { buffer in
            if let time { buffer.write("time", dateOfNanoseconds: time.nanoseconds) }
            buffer.write("adapter", adapter)
            if let address {
                buffer.write("address", address)
                if let word = address.kind.word { buffer.write("addressType", word: word) }
            }
            if let rssi { buffer.write("rssi", rssi.dBm) }
            buffer.write(beacon.identity)
            buffer.write("measuredPower", beacon.measuredPower)
        }
        append(octet: 0x0A)
    }
}
