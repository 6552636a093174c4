#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// How near a beacon is, in Core Location's words (`CLProximity`).
///
/// Apple gives no figures for them; these are what most libraries settled on.
enum Proximity: String, Sendable, CaseIterable {
    /// Nearer than half a metre.
    case immediate
    /// Nearer than four metres.
    case near
    /// Farther.
    case far
    /// It was not heard lately, or without an RSSI.
    case unknown

    static let immediateMax = 0.5
    static let nearMax = 4.0

    /// What a distance in metres comes to.
    init(distance: Double?) {
        guard let distance else {
            self = .unknown
            return
        }
        self = distance < Self.immediateMax ? .immediate : distance < Self.nearMax ? .near : .far
    }
}

/// The log-distance path loss model: RSSI falls by `10 n` dB for each tenfold distance.
///
/// Source: T. S. Rappaport, "Wireless Communications: Principles and Practice", 2nd edition, §4.9.1 and table 4.2.
enum PathLoss {
    /// `n`: 2 in free space; 1.6 to 1.8 along the line of sight in buildings, 2 to 3 in factories, 4 to 6 behind walls.
    ///
    /// A beacon's measured power is calibrated in the open, and one that can be seen from the gateway is the case that
    /// distances are looked at for.
    static let exponent = 2.0

    /// The distance in metres of a beacon that is `measuredPower` dBm strong at one metre and is heard with `rssi` dBm.
    ///
    /// Both may be anything that an octet holds: the result lies between a millionth of a metre and 10¹³ m.
    static func distance(measuredPower: Int8, rssi: Double) -> Double {
        pow(10, (Double(measuredPower) - rssi) / (10 * exponent))
    }
}
