import BeaconMonitoring
public import BluetoothLE

extension LineBuffer {
    /// Appends one sighting as a flat line of the advertisement log, with its line end; what is not known is absent.
    ///
    /// The date has microseconds, and nanoseconds where there are any, so that the line reads back as the same sighting.
    public mutating func append(
        sighting beacon: IBeacon, time: Instant?, adapter: String, rssi: RSSI?, address: DeviceAddress?
    ) {
        append("{")
        if let time {
            append("\"time\":\"")
            append(WallDate(time, offset: .zero))
            let rest = Int(time.nanoseconds % 1000)
            if rest != 0 { replaceLast(with: rest) }
            append("\",")
        }
        append("\"adapter\":\"")
        append(escaped: adapter)
        if let address {
            append("\",\"address\":\"")
            append(address)
            if let word = address.kind.word {
                append("\",\"addressType\":\"")
                append(word)
            }
        }
        append(octet: UInt8(ascii: "\""))
        if let rssi {
            append(",\"rssi\":")
            append(Int(rssi.dBm))
        }
        append(",\"uuid\":\"")
        append(beacon.identity.uuid)
        append("\",\"major\":")
        append(Int(beacon.identity.major))
        append(",\"minor\":")
        append(Int(beacon.identity.minor))
        append(",\"measuredPower\":")
        append(Int(beacon.measuredPower))
        append("}\n")
    }

    /// Puts three digits of nanoseconds before the `Z` that was written last.
    private mutating func replaceLast(with nanoseconds: Int) {
        dropLast()
        append(nanoseconds, digits: 3)
        append(octet: UInt8(ascii: "Z"))
    }
}

extension DeviceAddress.Kind {
    /// The type as the advertisement log spells it; `nil` where the source did not say.
    public var word: StaticString? {
        switch self {
        case .public: "public"
        case .random: "random"
        case .publicIdentity: "publicIdentity"
        case .randomIdentity: "randomIdentity"
        case .unresolved: "unresolved"
        case .unspecified: nil
        }
    }
}
