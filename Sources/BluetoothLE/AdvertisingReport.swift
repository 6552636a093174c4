/// One advertising report: one advertisement that a controller or a sniffer received.
///
/// The report does not contain the data of the advertisement, only their range in the bytes that it was read from.
///
/// Source: Bluetooth Core Vol 4 Part E §7.7.65.2 (LE Advertising Report) and §7.7.65.13 (LE Extended Advertising
/// Report).
public struct AdvertisingReport: Sendable, Hashable {
    /// The Event_Type bits of an extended report. The types of legacy reports and of PDUs are converted to these bits.
    public struct Properties: OptionSet, Sendable, Hashable {
        /// The bits, numbered as in Vol 4 Part E §7.7.65.13.
        public let rawValue: UInt16
        /// Creates a set of bits.
        @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// The advertiser accepts connections.
        public static let connectable = Properties(rawValue: 0x01)
        /// The advertiser answers scan requests.
        public static let scannable = Properties(rawValue: 0x02)
        /// The advertisement is addressed to one scanner.
        public static let directed = Properties(rawValue: 0x04)
        /// The data are those of a scan response.
        public static let scanResponse = Properties(rawValue: 0x08)
        /// The advertisement was a legacy advertising PDU.
        public static let legacy = Properties(rawValue: 0x10)
        /// A PDU of extended advertising from a sniffer instead of a report from a controller. HCI does not use this
        /// bit.
        ///
        /// A PDU with an address starts an advertisement. A PDU without one either continues the advertisement with the
        /// same ADI (AUX_CHAIN_IND) or belongs to an anonymous advertiser; its bytes do not show which.
        public static let linkLayer = Properties(rawValue: 0x8000)
    }

    /// Whether the report has all data of the advertisement.
    public enum DataStatus: UInt8, Sendable {
        case complete = 0
        /// More fragments will follow in later reports.
        case moreToCome = 1
        /// The controller lost the remaining data.
        case truncated = 2
        /// Reserved for future use. The data of the report are decoded, but may not be complete.
        case reserved = 3
    }

    // Optional values are stored as the bytes that mean "absent": a report has 32 bytes instead of 48, and no branch is
    // needed to create it. This is the word of a `DeviceAddress`, or a word with the type 0xFF ("anonymous").
    @usableFromInline package var packedAddress: UInt64
    // 127 means "not available".
    @usableFromInline var reportedRSSI: UInt8
    // 0xFF means "no ADI field". Every value above 15 becomes 0xFF, so that equal reports have equal bytes.
    @usableFromInline var reportedSID: UInt8
    // 0xFFFF means "not reported".
    @usableFromInline var reportedDataID: UInt16
    @usableFromInline var statusBits: UInt8

    /// The kind of advertising.
    public var properties: Properties
    /// The range of the AD structures in the bytes that the report was read from.
    public var data: Range<Int>

    /// Creates a report. An `advertisingSID` above 15 or an `advertisingDataID` above 0x0FFF is stored as `nil`.
    @inlinable public init(
        address: DeviceAddress?, rssi: RSSI?, properties: Properties, status: DataStatus = .complete,
        advertisingSID: UInt8? = nil, advertisingDataID: UInt16? = nil, data: Range<Int>
    ) {
        packedAddress = DeviceAddress.packed(address)
        reportedRSSI = RSSI.byte(rssi)
        self.properties = properties
        statusBits = status.rawValue
        reportedSID = Self.byte(advertisingSID: advertisingSID)
        reportedDataID = Self.field(advertisingDataID: advertisingDataID)
        self.data = data
    }

    @inlinable static func byte(advertisingSID: UInt8?) -> UInt8 {
        guard let advertisingSID, advertisingSID <= 0x0F else { return 0xFF }
        return advertisingSID
    }

    @inlinable static func field(advertisingDataID: UInt16?) -> UInt16 {
        guard let advertisingDataID, advertisingDataID <= 0x0FFF else { return 0xFFFF }
        return advertisingDataID
    }

    // Creates a report from the bytes of a controller's report, without optional values in between.
    @inlinable @inline(__always) init(
        packedAddress: UInt64, reportedRSSI: UInt8, properties: Properties, statusBits: UInt8, reportedSID: UInt8,
        data: Range<Int>
    ) {
        self.packedAddress = packedAddress
        self.reportedRSSI = reportedRSSI
        self.properties = properties
        self.statusBits = statusBits
        self.reportedSID = Self.byte(advertisingSID: reportedSID)
        reportedDataID = 0xFFFF
        self.data = data
    }
}

extension AdvertisingReport {
    /// The address of the advertiser; `nil` for anonymous advertising, or if the source does not report it.
    @inlinable public var address: DeviceAddress? {
        get { DeviceAddress(packed: packedAddress) }
        set { packedAddress = DeviceAddress.packed(newValue) }
    }

    /// The signal strength in dBm; `nil` if the source does not know it. A controller then reports 127 ("not
    /// available").
    @inlinable public var rssi: RSSI? {
        get { RSSI(reported: reportedRSSI) }
        set { reportedRSSI = RSSI.byte(newValue) }
    }

    /// Whether the data are complete, or more will follow.
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

    /// The identifier of the advertising set, 0 … 15; `nil` in legacy advertising and for values outside this range.
    @inlinable public var advertisingSID: UInt8? {
        get { reportedSID == 0xFF ? nil : reportedSID }
        set { reportedSID = Self.byte(advertisingSID: newValue) }
    }

    /// The Advertising Data ID (12 bits) of a sniffer's PDU with an ADI field; always `nil` for reports of a
    /// controller.
    @inlinable public var advertisingDataID: UInt16? {
        get { reportedDataID == 0xFFFF ? nil : reportedDataID }
        set { reportedDataID = Self.field(advertisingDataID: newValue) }
    }
}

extension AdvertisingReport.Properties {
    /// Creates the bits for the Event_Type of a legacy report (Vol 4 Part E §7.7.65.2). A reserved value sets only
    /// `legacy`.
    @inlinable public init(legacyEventType: UInt8) {
        // ADV_IND, ADV_DIRECT_IND, ADV_SCAN_IND, ADV_NONCONN_IND and SCAN_RSP, one byte each, the first in the lowest
        // byte.
        let bits: UInt64 = 0x10_1B_10_12_15_13
        self.init(
            rawValue: legacyEventType <= 4
                ? UInt16(truncatingIfNeeded: bits >> (UInt64(legacyEventType) &* 8) & 0xFF) : 0x10)
    }
}
