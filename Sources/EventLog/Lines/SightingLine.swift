package import BaseTypes
import BeaconMonitoring
package import BluetoothLE
package import JSON

extension LineBuffer {
    /// Appends a sighting as a line of the advertisement log, with its line end. Unknown values are omitted.
    ///
    /// The date has microseconds, or nanoseconds if they are not zero, so that reading the line gives the same
    /// sighting.
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
            if let power = beacon.measuredPower { buffer.write("measuredPower", power) }
        }
        append(byte: 0x0A)
    }
}
