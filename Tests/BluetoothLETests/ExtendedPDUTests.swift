import BluetoothLE
import Testing

@Suite struct ExtendedPDUTests {
    private let address = bytes("070000E598C0")
    private let expectedAddress = DeviceAddress(0xC098_E500_0007, kind: .random)
    private let payload = flags + ad(0xFF, frame)
    // DID 0x123, SID 5.
    private let information = bytes("2351")
    // Channel 9, offset 100 × 30 µs, 1M.
    private let pointer = bytes("096400")

    /// Returns a payload in the Common Extended Advertising Payload Format.
    private func payload(mode: UInt8 = 0, flags: UInt8, _ fields: [UInt8], data: [UInt8] = []) -> [UInt8] {
        [mode << 6 | UInt8(1 + fields.count), flags] + fields + data
    }

    private func report(_ payload: [UInt8]) throws(LinkLayerError) -> AdvertisingReport? {
        let frame = linkLayerFrame(type: 0x07, payload)
        return try LinkLayerPDU.advertisingReport(of: frame.span, in: 0..<frame.count, rssi: nil, check: .unchecked)
    }

    @Test func `an AUX_ADV_IND gives its address, SID, data ID and data`() throws {
        let report = try #require(try report(payload(flags: 0x09, address + information, data: payload)))
        #expect(report.address == expectedAddress)
        #expect(report.advertisingSID == 5)
        #expect(report.advertisingDataID == 0x123)
        #expect(report.properties == .linkLayer)
        #expect(report.status == .complete)
        #expect(report.data == 6 + 10..<6 + 10 + payload.count)
    }

    @Test func `the data start after all fields of the extended header and the ACAD`() throws {
        // AdvA, TargetA, CTEInfo, ADI, AuxPtr, SyncInfo, TxPower, and two bytes of ACAD.
        let fields =
            address + bytes("112233445566") + [0x14] + information + pointer + [UInt8](repeating: 0xEE, count: 18) + [
                0x04
            ]
            + [0x01, 0xFF]
        let report = try #require(try report(payload(flags: 0x7F, fields, data: payload)))
        #expect(report.address == expectedAddress)
        #expect(report.advertisingSID == 5)
        #expect(report.properties == [.linkLayer, .directed])
        #expect(report.status == .moreToCome)
        #expect(report.data.count == payload.count)
    }

    @Test func `a PDU with an AuxPtr has more to come if it has data, else it is complete and empty`() throws {
        let withData = try #require(try report(payload(flags: 0x19, address + information + pointer, data: payload)))
        #expect(withData.status == .moreToCome)
        let pointing = try #require(try report(payload(flags: 0x18, information + pointer)))
        #expect(pointing.status == .complete)
        #expect(pointing.data.isEmpty)
    }

    @Test func `an AuxPtr with offset zero means that the rest is not sent, so the report is truncated`() throws {
        let report = try report(payload(flags: 0x19, address + information + bytes("0900E0"), data: payload))
        #expect(report?.status == .truncated)
        // One bit of the 13 bits of the offset is enough.
        for pointer in ["090100", "090001", "090010"] {
            let bytes = payload(flags: 0x19, address + information + bytes(pointer), data: payload)
            #expect(try self.report(bytes)?.status == .moreToCome)
        }
    }

    @Test(arguments: [(0, []), (1, .connectable), (2, .scannable), (3, [])] as [(UInt8, AdvertisingReport.Properties)])
    func `AdvMode is connectable, scannable or neither`(mode: UInt8, properties: AdvertisingReport.Properties) throws {
        let report = try report(payload(mode: mode, flags: 0x01, address, data: payload))
        #expect(report?.properties == properties.union(.linkLayer))
    }

    @Test func `without an extended header, or with empty flags, all following bytes are data`() throws {
        for head: [UInt8] in [[0x00], [0x01, 0x00]] {
            let report = try #require(try report(head + payload))
            #expect(report.address == nil)
            #expect(report.advertisingSID == nil)
            #expect(report.data == 6 + head.count..<6 + head.count + payload.count)
        }
    }

    @Test(
        arguments: [
            [], [0x01], [0x3F, 0x00], [0x02, 0x01, 0x00], [0x07, 0x01, 1, 2, 3, 4, 5], [0x06, 0x01, 1, 2, 3, 4, 5],
            [0x02, 0x08, 0x23], [0x03, 0x10, 9, 9], [0x01, 0x04], [0x01, 0x40],
            [0x12, 0x20] + [UInt8](repeating: 0, count: 17),
            [0x0B, 0x03] + [UInt8](repeating: 0, count: 10),
        ] as [[UInt8]])
    func `B4: an extended header whose fields do not fit into its length is truncated`(payload: [UInt8]) {
        #expect {
            try report(payload)
        } throws: {
            ($0 as? LinkLayerError)?.malformation == .pduTruncated
        }
    }

    @Test func `a field of a header is never read from the data after the header`() {
        // The header has five bytes, but AdvA needs six. The sixth would be the first byte of the data.
        #expect(throws: LinkLayerError.pduTruncated(offset: 8, needed: 6, available: 5)) {
            try report([0x06, 0x01, 1, 2, 3, 4, 5] + payload)
        }
    }
}
