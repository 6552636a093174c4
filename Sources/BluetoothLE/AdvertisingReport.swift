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

    /// The advertiser's address; absent for anonymous advertising and where the source tells none.
    public var address: DeviceAddress?
    /// How strong it was; absent where the source does not know.
    public var rssi: RSSI?
    /// What kind of advertising it was.
    public var properties: Properties
    /// Whether more data follow.
    public var status: DataStatus
    /// The advertising set's identifier, 0 … 15; absent in legacy advertising.
    public var advertisingSID: UInt8?
    /// The Advertising Data ID, 12 bits, of a sniffer's PDU that has an ADI field; a controller does not tell it.
    public var advertisingDataID: UInt16?
    /// Where its AD structures stand in the bytes that it was read from.
    public var data: Range<Int>

    /// Makes a report.
    @inlinable public init(
        address: DeviceAddress?, rssi: RSSI?, properties: Properties, status: DataStatus = .complete,
        advertisingSID: UInt8? = nil, advertisingDataID: UInt16? = nil, data: Range<Int>
    ) {
        self.address = address
        self.rssi = rssi
        self.properties = properties
        self.status = status
        self.advertisingSID = advertisingSID
        self.advertisingDataID = advertisingDataID
        self.data = data
    }
}

extension AdvertisingReport.Properties {
    /// What the Event_Type octet of a legacy report says (Vol 4 Part E §7.7.65.2); a reserved one says only "legacy".
    @inlinable public init(legacyEventType: UInt8) {
        switch legacyEventType {
        case 0x00: self = [.legacy, .connectable, .scannable]  // ADV_IND
        case 0x01: self = [.legacy, .connectable, .directed]  // ADV_DIRECT_IND
        case 0x02: self = [.legacy, .scannable]  // ADV_SCAN_IND
        case 0x03: self = [.legacy]  // ADV_NONCONN_IND
        case 0x04: self = [.legacy, .connectable, .scannable, .scanResponse]  // SCAN_RSP
        default: self = [.legacy]
        }
    }
}
