import BluetoothLE
import Testing

/// Chains as a sniffer receives them: PDUs, of which the continuations have no address.
@Suite struct SnifferChainTests {
    private let mine = bytes("070000E598C0")
    private let another = bytes("080000E598C0")

    /// Passes a PDU of type 7 in its frame. Returns the data of the resulting reports.
    private func receive(
        _ fixture: inout AssemblerFixture, _ address: [UInt8]?, adi: UInt16? = 0x5123, pointer: Bool = false,
        _ data: [UInt8],
        adapter: Int = 0, at time: Int64 = 0
    ) throws -> [[UInt8]] {
        var fields: [UInt8] = [0]
        if let address { (fields, fields[0]) = (fields + address, fields[0] | 0x01) }
        if let adi {
            fields += [UInt8(truncatingIfNeeded: adi), UInt8(adi >> 8)]
            fields[0] |= 0x08
        }
        if pointer { (fields, fields[0]) = (fields + [0x09, 0x64, 0x00], fields[0] | 0x10) }
        let bytes = linkLayerFrame(type: 0x07, [UInt8(fields.count)] + fields + data)
        let report = try #require(
            try LinkLayerPDU.advertisingReport(of: bytes.span, in: 0..<bytes.count, rssi: nil, check: .unchecked))
        return fixture.take(report, Array(bytes[report.data]), adapter: adapter, at: time).map(\.data)
    }

    @Test func `B5: an AUX_CHAIN_IND continues the chain with its ADI, whose address and properties remain`() throws {
        var assembler = ExtendedReportAssembler()
        var properties: AdvertisingReport.Properties = [.linkLayer, .connectable]
        let bytes: [UInt8] = [1, 2, 3]
        for (address, status, range) in [
            (DeviceAddress(7, kind: .random), .moreToCome, 0..<1), (nil, .moreToCome, 1..<2), (nil, .complete, 2..<3),
        ] as [(DeviceAddress?, AdvertisingReport.DataStatus, Range<Int>)] {
            let report = AdvertisingReport(
                address: address, rssi: nil, properties: properties, status: status, advertisingSID: 5,
                advertisingDataID: 0x123, data: range)
            _ = assembler.take(report, adapter: 0, time: nil, of: bytes.span)
            properties = .linkLayer
        }
        var data: [UInt8] = []
        let ready = assembler.nextReady(into: &data)
        #expect(data == [1, 2, 3])
        #expect(ready?.report.address == DeviceAddress(7, kind: .random))
        #expect(ready?.report.properties == [.linkLayer, .connectable])
        #expect(ready?.report.status == .complete)
        #expect(assembler.isIdle)
    }

    @Test func `B5: an advertisement is one report from AUX_ADV_IND to its last AUX_CHAIN_IND`() throws {
        var fixture = AssemblerFixture()
        let payload = flags + ad(0xFF, frame)
        // ADV_EXT_IND: no address, the same ADI, only a pointer.
        #expect(try receive(&fixture, nil, pointer: true, []) == [[]])
        #expect(try receive(&fixture, mine, pointer: true, Array(payload[..<10])) == [])
        #expect(try receive(&fixture, nil, pointer: true, Array(payload[10..<20])) == [])
        let received = try receive(&fixture, nil, Array(payload[20...]))
        #expect(received == [payload])
        #expect(fixture.assembler.isIdle)
        #expect(fixture.assembler.counts.occurred.isEmpty)
    }

    @Test func `an ADV_EXT_IND, which has no data, ends no chain`() throws {
        var fixture = AssemblerFixture()
        _ = try receive(&fixture, mine, pointer: true, [1])
        #expect(try receive(&fixture, nil, pointer: true, []) == [[]])
        #expect(try receive(&fixture, mine, pointer: true, []) == [[]])
        #expect(try receive(&fixture, nil, [2]) == [[1, 2]])
    }

    @Test
    func `B5: a PDU with an address starts a new chain; the open one is read as far as received, and counted`()
        throws
    {
        var fixture = AssemblerFixture()
        _ = try receive(&fixture, mine, pointer: true, [1])
        #expect(try receive(&fixture, mine, pointer: true, [2]) == [[1]])
        #expect(try receive(&fixture, nil, [3]) == [[2, 3]])
        _ = try receive(&fixture, mine, pointer: true, [4])
        #expect(try receive(&fixture, mine, [5]) == [[4], [5]])
        #expect(fixture.assembler.counts[.chainAbandoned] == 2)
    }

    @Test func `B5: advertisers with different ADIs are not mixed, even with the same SID`() throws {
        var fixture = AssemblerFixture()
        _ = try receive(&fixture, mine, adi: 0x5123, pointer: true, [1])
        _ = try receive(&fixture, another, adi: 0x5124, pointer: true, [2])
        #expect(try receive(&fixture, nil, adi: 0x5124, [3]) == [[2, 3]])
        #expect(try receive(&fixture, nil, adi: 0x5123, [4]) == [[1, 4]])
    }

    @Test func `B5: a PDU that could continue two chains continues neither`() throws {
        var fixture = AssemblerFixture()
        _ = try receive(&fixture, mine, pointer: true, [1])
        _ = try receive(&fixture, another, pointer: true, [2])
        #expect(try receive(&fixture, nil, [3]) == [[3]])
        fixture.assembler.flush(adapter: nil)
        #expect(fixture.drain().map(\.data) == [[1], [2]])
    }

    @Test func `B5: a PDU does not continue a chain of another adapter, of another ADI, or that is too old`() throws {
        var fixture = AssemblerFixture()
        _ = try receive(&fixture, mine, pointer: true, [1], at: 0)
        #expect(try receive(&fixture, nil, [2], adapter: 1) == [[2]])
        #expect(try receive(&fixture, nil, adi: 0x6123, [3]) == [[3]])
        #expect(try receive(&fixture, nil, adi: nil, [4]) == [[4]])
        #expect(try receive(&fixture, nil, [5], at: 2_457_300_001) == [[5]])
        #expect(try receive(&fixture, nil, [6], at: 2_457_300_000) == [[1, 6]])
    }

    @Test func `a controller's anonymous report does not continue a chain as a sniffer's PDU does`() throws {
        var fixture = AssemblerFixture()
        #expect(fixture.fragment([1], .moreToCome) == [])
        #expect(fixture.fragment([2], .complete, address: .some(nil)).map(\.data) == [[2]])
        #expect(fixture.fragment([3], .complete).map(\.data) == [[1, 3]])
    }
}
