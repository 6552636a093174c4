import BluetoothLE
import Testing

@Suite struct LinkLayerPDUTests {
    private let address = bytes("070000E598C0")
    private let expectedAddress = DeviceAddress(0xC098_E500_0007, kind: .random)
    private let payload = flags + ad(0xFF, frame)

    private func report(_ frame: [UInt8], check: FrameCheck = .unchecked) throws(LinkLayerError) -> AdvertisingReport? {
        try LinkLayerPDU.advertisingReport(of: frame.span, in: 0..<frame.count, rssi: RSSI(dBm: -61), check: check)
    }

    @Test func `the CRC function of the tests gives the CRC of a captured frame`() {
        // Captured: a SCAN_RSP without data and its CRC.
        #expect(crc24(bytes("44060e9bbd258d5f")) == bytes("ea67d0"))
    }

    @Test(
        arguments: [
            (0x00, [.legacy, .connectable, .scannable]), (0x02, [.legacy]), (0x06, [.legacy, .scannable]),
            (0x04, [.legacy, .connectable, .scannable, .scanResponse]),
        ] as [(UInt8, AdvertisingReport.Properties)])
    func `B2: an advertising PDU or scan response gives a report of its data`(
        type: UInt8, properties: AdvertisingReport.Properties
    ) throws {
        let bytes = linkLayerFrame(type: type, address + payload)
        let report = try #require(try report(bytes))
        #expect(report.address == expectedAddress)
        #expect(report.rssi == RSSI(dBm: -61))
        #expect(report.properties == properties)
        #expect(report.status == .complete)
        #expect(report.advertisingSID == nil)
        #expect(report.data == 12..<12 + payload.count)
        #expect(beacons(in: Array(bytes[report.data])).found == [beacon])
    }

    @Test func `a directed advertisement has an address and no data`() throws {
        let report = try #require(try report(linkLayerFrame(type: 0x01, address + bytes("112233445566"))))
        #expect(report.address == expectedAddress)
        #expect(report.properties == [.legacy, .connectable, .directed])
        #expect(report.data.isEmpty)
    }

    @Test func `TxAdd decides whether the address is random`() throws {
        #expect(try report(linkLayerFrame(type: 0x00, random: true, address))?.address?.kind == .random)
        #expect(try report(linkLayerFrame(type: 0x00, random: false, address))?.address?.kind == .public)
    }

    @Test func `ChSel, RxAdd and the reserved bit change nothing`() throws {
        for bits: UInt8 in [0x10, 0x20, 0x80, 0xB0] {
            #expect(try report(linkLayerFrame(type: 0x00 | bits, address + payload))?.data.count == payload.count)
        }
    }

    @Test(arguments: [0x3, 0x5, 0x8, 0x9, 0xA, 0xB, 0xC, 0xD, 0xE, 0xF])
    func `B4: a PDU that is neither advertising nor a scan response gives nothing`(type: Int) throws {
        #expect(try report(linkLayerFrame(type: UInt8(type), address + payload)) == nil)
        #expect(try report(linkLayerFrame(type: UInt8(type), [])) == nil)
    }

    @Test(arguments: [0, 1, 2, 3])
    func `B4: a frame with another access address gives nothing, whatever its CRC`(index: Int) throws {
        var bytes = linkLayerFrame(type: 0x00, address + payload)
        bytes[index] ^= 0x01
        for check in [FrameCheck.valid, .invalid, .unchecked] { #expect(try report(bytes, check: check) == nil) }
        #expect(try report(Array(bytes[..<4])) == nil)
    }

    @Test func `B4: a frame with any wrong bit in its PDU or CRC, except in the length, throws badCRC`() throws {
        let bytes = linkLayerFrame(type: 0x00, address + payload)
        // The length byte is left out, because a wrong length can be another error.
        for bit in 32..<bytes.count * 8 where bit / 8 != 5 {
            var wrong = bytes
            wrong[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(throws: LinkLayerError.badCRC) { try report(wrong) }
        }
        #expect(try report(bytes) != nil)
    }

    @Test func `B4: the CRC of a PDU is as the specification draws it, for payloads of 6 to 255 bytes`() throws {
        for length in 6...255 {
            let bytes = linkLayerFrame(type: 0x00, (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ length) })
            #expect(try report(bytes)?.data.count == length - 6)
        }
    }

    @Test func `B4: if the sniffer has checked the CRC, its result is used`() throws {
        var bytes = linkLayerFrame(type: 0x00, address + payload)
        #expect(throws: LinkLayerError.badCRC) { try report(bytes, check: .invalid) }
        bytes[bytes.count - 1] ^= 0xFF
        #expect(try report(bytes, check: .valid) != nil)
        #expect(throws: LinkLayerError.badCRC) { try report(bytes, check: .unchecked) }
    }

    @Test func `B4: a frame that is cut anywhere gives no report and an error`() throws {
        let bytes = linkLayerFrame(type: 0x00, address + payload)
        for length in 0..<bytes.count {
            #expect(throws: LinkLayerError.self) { try report(Array(bytes[..<length])) }
        }
        // If the sniffer has checked the CRC, it can be missing.
        #expect(try report(bytes.dropLast(3), check: .valid) != nil)
        #expect(throws: LinkLayerError.pduTruncated(offset: 6, needed: 36, available: 35)) {
            try report(bytes.dropLast(4), check: .valid)
        }
    }

    @Test(arguments: 0..<6) func `B4: a payload shorter than its address is truncated`(length: Int) throws {
        #expect(throws: LinkLayerError.pduTruncated(offset: 6, needed: 6, available: length)) {
            try report(linkLayerFrame(type: 0x00, Array(address[..<length])))
        }
        #expect(throws: LinkLayerError.pduTruncated(offset: 12, needed: 6, available: length)) {
            try report(linkLayerFrame(type: 0x01, address + Array(address[..<length])))
        }
    }

    @Test func `a frame is read in its range, and bytes after its CRC are ignored`() throws {
        let frame = linkLayerFrame(type: 0x00, address + payload)
        let bytes = [0xAA, 0xBB] + frame + [0xCC, 0xDD]
        for end in [2 + frame.count, bytes.count, bytes.count + 5] {
            let report = try LinkLayerPDU.advertisingReport(of: bytes.span, in: 2..<end, rssi: nil, check: .unchecked)
            #expect(report?.data == 14..<14 + payload.count)
            #expect(report?.rssi == nil)
        }
        #expect(throws: LinkLayerError.pduTruncated(offset: 44, needed: 3, available: 2)) {
            try LinkLayerPDU.advertisingReport(of: bytes.span, in: 2..<1 + frame.count, rssi: nil, check: .unchecked)
        }
    }

    @Test func `each error is counted as its own kind, and its text has the place`() {
        #expect(LinkLayerError.badCRC.malformation == .badCRC)
        let cut = LinkLayerError.pduTruncated(offset: 6, needed: 36, available: 35)
        #expect(cut.malformation == .pduTruncated)
        #expect(cut.description == "the advertising PDU needs 36 bytes at byte 6, but has 35")
    }

    struct AirFrame: Decodable, CustomTestStringConvertible {
        var source, hex, gives: String
        var address, addressType, data: String?
        var testDescription: String { "\(source) \(hex)" }
        static let all = (try? fixture("link-layer-frames.jsonl", of: AirFrame.self)) ?? []
    }

    @Test func `all 46 captured frames are loaded`() { #expect(AirFrame.all.count == 46) }

    @Test(arguments: AirFrame.all)
    func `B4: a captured frame gives its report, its error or nothing`(captured: AirFrame) throws {
        let bytes = bytes(captured.hex)
        do {
            let found = try report(bytes)
            #expect((found == nil ? "none" : "report") == captured.gives)
            guard let found else { return }
            #expect(found.address?.description == captured.address)
            #expect(found.address?.kind == (captured.addressType == "random" ? .random : .public))
            #expect(hex(bytes[found.data]) == captured.data)
        } catch {
            #expect(error.malformation == (captured.gives == "badCRC" ? .badCRC : .pduTruncated))
            #expect(["badCRC", "pduTruncated"].contains(captured.gives))
        }
    }
}
