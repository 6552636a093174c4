/// One advertising report: what a controller, or a sniffer, heard of one advertiser at one moment.
///
/// Source: Bluetooth Core Vol 4 Part E §7.7.65.2 (LE Advertising Report) and §7.7.65.13 (LE Extended Advertising Report).
public struct AdvertisingReport: Sendable, Hashable {
    /// The Event_Type bits of an extended report; a legacy report's and a PDU's types are expressed in them.
    public struct Properties: OptionSet, Sendable, Hashable {
        /// The bits, as Vol 4 Part E §7.7.65.13 numbers them.
        public let rawValue: UInt16
        /// Makes a set of bits.
        @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// The advertiser takes connections.
        public static let connectable = Properties(rawValue: 0x01)
        /// The advertiser answers scan requests.
        public static let scannable = Properties(rawValue: 0x02)
        /// The advertisement is for one scanner.
        public static let directed = Properties(rawValue: 0x04)
        /// The data are a scan response's.
        public static let scanResponse = Properties(rawValue: 0x08)
        /// A legacy advertising PDU carried it.
        public static let legacy = Properties(rawValue: 0x10)
        /// A PDU of extended advertising as a sniffer hears it, not a controller's report (no bit of HCI's).
        ///
        /// One with an address begins an advertisement. One without goes on with the advertisement that has the same ADI
        /// (AUX_CHAIN_IND), or is an anonymous advertiser's; its bytes don't tell which.
        public static let linkLayer = Properties(rawValue: 0x8000)
    }

    /// Whether the data are all that the advertiser sent.
    public enum DataStatus: UInt8, Sendable {
        case complete = 0
        /// More fragments follow in reports to come.
        case moreToCome = 1
        /// The controller lost the rest.
        case truncated = 2
        /// Reserved for future use; read as far as it goes.
        case reserved = 3
    }

    // What may be absent is kept as the octets that say so: 32 bytes a report instead of 48, and no branch to fill them.
    // A word of `DeviceAddress`, or one of type 0xFF, "anonymous".
    @usableFromInline package var packedAddress: UInt64
    // 127 is "not available".
    @usableFromInline var reportedRSSI: UInt8
    // 0xFF is "no ADI field", and what every octet above 15 becomes: equal reports are equal words.
    @usableFromInline var reportedSID: UInt8
    // 0xFFFF is "not told".
    @usableFromInline var reportedDataID: UInt16
    @usableFromInline var statusBits: UInt8

    /// What kind of advertising it was.
    public var properties: Properties
    /// Where its AD structures stand in the bytes that it was read from.
    public var data: Range<Int>

    /// Makes a report.
    @inlinable public init(
        address: DeviceAddress?, rssi: RSSI?, properties: Properties, status: DataStatus = .complete,
        advertisingSID: UInt8? = nil, advertisingDataID: UInt16? = nil, data: Range<Int>
    ) {
        packedAddress = DeviceAddress.packed(address)
        reportedRSSI = RSSI.octet(rssi)
        self.properties = properties
        statusBits = status.rawValue
        reportedSID = Self.octet(advertisingSID: advertisingSID)
        reportedDataID = Self.field(advertisingDataID: advertisingDataID)
        self.data = data
    }

    @inlinable static func octet(advertisingSID: UInt8?) -> UInt8 {
        guard let advertisingSID, advertisingSID <= 0x0F else { return 0xFF }
        return advertisingSID
    }

    @inlinable static func field(advertisingDataID: UInt16?) -> UInt16 {
        guard let advertisingDataID, advertisingDataID <= 0x0FFF else { return 0xFFFF }
        return advertisingDataID
    }

    // Makes a report of what a controller's says, octet by octet.
    @inlinable @inline(__always) init(
        packedAddress: UInt64, reportedRSSI: UInt8, properties: Properties, statusBits: UInt8, reportedSID: UInt8,
        data: Range<Int>
    ) {
        self.packedAddress = packedAddress
        self.reportedRSSI = reportedRSSI
        self.properties = properties
        self.statusBits = statusBits
        self.reportedSID = Self.octet(advertisingSID: reportedSID)
        reportedDataID = 0xFFFF
        self.data = data
    }
}

extension AdvertisingReport {
    /// The advertiser's address; absent for anonymous advertising and where the source tells none.
    @inlinable public var address: DeviceAddress? {
        get { DeviceAddress(packed: packedAddress) }
        set { packedAddress = DeviceAddress.packed(newValue) }
    }

    /// How strong it was; absent where the source does not know, which is what 127 dBm means.
    @inlinable public var rssi: RSSI? {
        get { RSSI(reported: reportedRSSI) }
        set { reportedRSSI = RSSI.octet(newValue) }
    }

    /// Whether more data follow.
    @inlinable public var status: DataStatus {
        get {
            switch statusBits {
            case 0: .complete
            case 1: .moreToCome
            case 2: .truncated
            default: .reserved
            }
        }
        set { statusBits = newValue.rawValue }
    }

    /// The advertising set's identifier, 0 … 15; absent in legacy advertising, and where it is out of these bounds.
    @inlinable public var advertisingSID: UInt8? {
        get { reportedSID == 0xFF ? nil : reportedSID }
        set { reportedSID = Self.octet(advertisingSID: newValue) }
    }

    /// The Advertising Data ID, 12 bits, of a sniffer's PDU that has an ADI field; a controller does not tell it.
    @inlinable public var advertisingDataID: UInt16? {
        get { reportedDataID == 0xFFFF ? nil : reportedDataID }
        set { reportedDataID = Self.field(advertisingDataID: newValue) }
    }
}

extension AdvertisingReport.Properties {
    /// What the Event_Type octet of a legacy report says (Vol 4 Part E §7.7.65.2); a reserved one says only "legacy".
    @inlinable public init(legacyEventType: UInt8) {
        // ADV_IND, ADV_DIRECT_IND, ADV_SCAN_IND, ADV_NONCONN_IND, SCAN_RSP: an octet each, the first the lowest.
        let bits: UInt64 = 0x10_1B_10_12_15_13
        self.init(
            rawValue: legacyEventType <= 4
                ? UInt16(truncatingIfNeeded: bits >> (UInt64(legacyEventType) &* 8) & 0xFF) : 0x10)
    }
}
