import BaseTypes
import BluetoothLE
import Testing

/// An assembler with the loop of its caller. Its methods return the reports that an input gives, in order.
struct AssemblerFixture {
    /// One report as the caller gets it.
    struct ReceivedReport: Equatable {
        var data: [UInt8]
        var rssi: Int8?
        var adapter: Int
        var time: Int64?
        var status: AdvertisingReport.DataStatus = .complete
    }

    var assembler = ExtendedReportAssembler()
    let address = DeviceAddress(0xC098_E500_0007, kind: .random)

    mutating func drain() -> [ReceivedReport] {
        var received: [ReceivedReport] = []
        var data: [UInt8] = [0xEE]
        while let (report, adapter, time) = assembler.nextReady(into: &data) {
            precondition(report.data == 0..<data.count)
            received.append(
                ReceivedReport(
                    data: data, rssi: report.rssi?.dBm, adapter: adapter, time: time?.nanoseconds, status: report.status
                ))
        }
        return received
    }

    mutating func take(
        _ report: AdvertisingReport, _ data: [UInt8], adapter: Int = 0, at time: Int64? = 0
    ) -> [ReceivedReport] {
        // The data are in the middle of an event.
        let bytes = [0xAA] + data + [0xBB, 0xCC]
        var report = report
        report.data = 1..<1 + data.count
        let instant = time.map { Instant(nanoseconds: $0) }
        guard assembler.take(report, adapter: adapter, time: instant, of: bytes.span) else { return drain() }
        precondition(drain() == [])
        return [ReceivedReport(data: data, rssi: report.rssi?.dBm, adapter: adapter, time: time, status: report.status)]
    }

    /// Passes a fragment as a controller reports it.
    mutating func fragment(
        _ data: [UInt8], _ status: AdvertisingReport.DataStatus, address: DeviceAddress?? = nil, sid: UInt8? = 1,
        adapter: Int = 0, rssi: Int8 = -60, at time: Int64? = 0
    ) -> [ReceivedReport] {
        let report = AdvertisingReport(
            address: address ?? self.address, rssi: RSSI(dBm: rssi), properties: [], status: status,
            advertisingSID: sid,
            data: 0..<0)
        return take(report, data, adapter: adapter, at: time)
    }
}

@Suite struct ExtendedReportAssemblerTests {
    typealias ReceivedReport = AssemblerFixture.ReceivedReport
    private let gap: Int64 = 2_457_300_000

    @Test func `B5: fragments are one report, with the time and RSSI of the last one`() {
        var fixture = AssemblerFixture()
        #expect(fixture.fragment([1, 2], .moreToCome, rssi: -50, at: 1000) == [])
        #expect(!fixture.assembler.isIdle)
        #expect(fixture.fragment([3], .moreToCome, rssi: -51, at: 2000) == [])
        #expect(
            fixture.fragment([4, 5], .complete, rssi: -52, at: 3000)
                == [ReceivedReport(data: [1, 2, 3, 4, 5], rssi: -52, adapter: 0, time: 3000)])
        #expect(fixture.assembler.isIdle)
        #expect(fixture.assembler.counts.occurred.isEmpty)
    }

    @Test func `B5: an iBeacon in three fragments is one sighting`() {
        var fixture = AssemblerFixture()
        let payload = flags + ad(0xFF, frame)
        #expect(fixture.fragment(Array(payload[..<5]), .moreToCome) == [])
        #expect(fixture.fragment(Array(payload[5..<20]), .moreToCome) == [])
        let received = fixture.fragment(Array(payload[20...]), .complete)
        #expect(received.flatMap { beacons(in: $0.data).found } == [beacon])
    }

    @Test func `B5: a report has the properties of its last fragment and the address of its chain`() {
        var assembler = ExtendedReportAssembler()
        let address = DeviceAddress(7, kind: .public)
        var report = AdvertisingReport(
            address: address, rssi: nil, properties: [], status: .moreToCome, advertisingSID: 3, data: 0..<1)
        let bytes: [UInt8] = [9]
        let first = assembler.take(report, adapter: 0, time: nil, of: bytes.span)
        report.status = .complete
        report.properties = .scanResponse
        let second = assembler.take(report, adapter: 0, time: nil, of: bytes.span)
        #expect(!first && !second)
        var data: [UInt8] = []
        let ready = assembler.nextReady(into: &data)
        #expect(ready?.report.properties == .scanResponse)
        #expect(ready?.report.address == address)
        #expect(ready?.report.advertisingSID == 3)
        #expect(ready?.time == nil)
        #expect(data == [9, 9])
    }

    @Test func `a complete report is not copied, nor is a legacy report, whatever its status`() {
        var fixture = AssemblerFixture()
        #expect(fixture.fragment([1], .complete).map(\.data) == [[1]])
        #expect(fixture.fragment([], .complete).map(\.data) == [[]])
        for status: AdvertisingReport.DataStatus in [.complete, .moreToCome, .truncated, .reserved] {
            let legacy = AdvertisingReport(
                address: nil, rssi: nil, properties: .legacy, status: status, advertisingSID: 1, data: 0..<0)
            #expect(fixture.take(legacy, [7]).map(\.data) == [[7]])
        }
        #expect(fixture.assembler.isIdle)
    }

    @Test func `B5: each combination of adapter, address and SID has its own chain`() {
        var fixture = AssemblerFixture()
        let other = DeviceAddress(0xC098_E500_0007, kind: .public)
        _ = fixture.fragment([1], .moreToCome)
        _ = fixture.fragment([2], .moreToCome, adapter: 1)
        _ = fixture.fragment([3], .moreToCome, address: other)
        _ = fixture.fragment([4], .moreToCome, sid: 2)
        _ = fixture.fragment([5], .moreToCome, sid: nil)
        _ = fixture.fragment([6], .moreToCome, address: .some(nil))
        // A complete report of another set is not copied, and does not change the open chains.
        #expect(fixture.fragment([0], .complete, sid: 3).map(\.data) == [[0]])
        #expect(fixture.fragment([9], .complete, address: .some(nil)).map(\.data) == [[6, 9]])
        #expect(fixture.fragment([9], .complete, sid: nil).map(\.data) == [[5, 9]])
        #expect(fixture.fragment([9], .complete, sid: 2).map(\.data) == [[4, 9]])
        #expect(fixture.fragment([9], .complete, address: other).map(\.data) == [[3, 9]])
        #expect(
            fixture.fragment([9], .complete, adapter: 1).map { [$0.data, [UInt8($0.adapter)]] } == [[[2, 9], [1]]])
        #expect(fixture.fragment([9], .complete).map(\.data) == [[1, 9]])
        #expect(fixture.assembler.isIdle)
    }

    @Test(arguments: [.truncated, .reserved] as [AdvertisingReport.DataStatus])
    func `B5: a truncated chain is read as far as it was received, and counted`(status: AdvertisingReport.DataStatus) {
        var fixture = AssemblerFixture()
        let payload = ad(0xFF, frame) + [0x1A, 0xFF]
        #expect(fixture.fragment(Array(payload[..<20]), .moreToCome) == [])
        let received = fixture.fragment(Array(payload[20...]), status, at: 5)
        #expect(received == [ReceivedReport(data: payload, rssi: -60, adapter: 0, time: 5, status: .truncated)])
        #expect(received.flatMap { beacons(in: $0.data).found } == [beacon])
        #expect(fixture.assembler.counts[.chainTruncated] == 1)
        // A chain that is truncated in its first fragment is counted too.
        #expect(fixture.fragment([7], status).map(\.data) == [[7]])
        #expect(fixture.assembler.counts[.chainTruncated] == 2)
        #expect(fixture.assembler.isIdle)
    }

    @Test
    func
        `B5: a fragment at the longest distance of an AuxPtr belongs to its chain, 1 ns later it starts another one`()
    {
        var fixture = AssemblerFixture()
        _ = fixture.fragment([1], .moreToCome, at: 100)
        _ = fixture.fragment([2], .moreToCome, at: 100 + gap)
        #expect(fixture.fragment([3], .complete, at: 100 + 2 * gap).map(\.data) == [[1, 2, 3]])
        #expect(fixture.assembler.counts.occurred.isEmpty)

        _ = fixture.fragment([1], .moreToCome, rssi: -50, at: 100)
        let abandoned = ReceivedReport(data: [1], rssi: -50, adapter: 0, time: 100, status: .truncated)
        #expect(fixture.fragment([2], .moreToCome, at: 101 + gap) == [abandoned])
        #expect(fixture.assembler.counts[.chainAbandoned] == 1)
        #expect(fixture.fragment([3], .complete, at: 101 + gap).map(\.data) == [[2, 3]])
        // A complete report after that time does not continue the chain. The abandoned chain comes first.
        _ = fixture.fragment([1], .moreToCome, rssi: -50, at: 100)
        let whole = ReceivedReport(data: [4], rssi: -60, adapter: 0, time: 101 + gap)
        #expect(fixture.fragment([4], .complete, at: 101 + gap) == [abandoned, whole])
        #expect(fixture.assembler.counts[.chainAbandoned] == 2)
    }

    @Test func `B5: a chain whose next fragment is late ends, is read as far as it was received, and counted`() {
        var fixture = AssemblerFixture()
        _ = fixture.fragment([1], .moreToCome, at: 100)
        _ = fixture.fragment([2], .moreToCome, sid: 2, at: 200)
        fixture.assembler.expire(at: Instant(nanoseconds: 100 + gap))
        #expect(fixture.drain() == [])
        fixture.assembler.expire(at: Instant(nanoseconds: 101 + gap))
        #expect(fixture.drain() == [ReceivedReport(data: [1], rssi: -60, adapter: 0, time: 100, status: .truncated)])
        #expect(!fixture.assembler.isIdle)
        fixture.assembler.expire(at: .latest)
        #expect(fixture.drain().map(\.data) == [[2]])
        #expect(fixture.assembler.isIdle)
        #expect(fixture.assembler.counts[.chainAbandoned] == 2)
    }

    @Test func `without times, and with earlier times, no fragment is too late`() {
        var fixture = AssemblerFixture()
        _ = fixture.fragment([1], .moreToCome, at: nil)
        fixture.assembler.expire(at: .latest)
        #expect(fixture.drain() == [])
        _ = fixture.fragment([2], .moreToCome, at: 9 * gap)
        #expect(fixture.fragment([3], .complete, at: 0).map(\.data) == [[1, 2, 3]])
    }

    @Test func `B5: when an adapter stops scanning, its chains end, and those of other adapters stay open`() {
        var fixture = AssemblerFixture()
        _ = fixture.fragment([1], .moreToCome, sid: 1)
        _ = fixture.fragment([2], .moreToCome, adapter: 1)
        _ = fixture.fragment([3], .moreToCome, sid: 3)
        fixture.assembler.flush(adapter: 0)
        #expect(!fixture.assembler.isIdle)
        #expect(fixture.drain().map(\.data) == [[1], [3]])
        #expect(fixture.assembler.counts[.chainAbandoned] == 2)
        fixture.assembler.flush(adapter: nil)
        #expect(fixture.drain().map(\.data) == [[2]])
        #expect(fixture.assembler.counts[.chainAbandoned] == 3)
        #expect(fixture.assembler.isIdle)
        fixture.assembler.flush(adapter: nil)
        #expect(fixture.drain() == [])
    }

    @Test func `B5: 1650 bytes are complete, and one byte more is dropped and counted`() {
        #expect(ExtendedReportAssembler.dataBytesMax == 1650)
        var fixture = AssemblerFixture()
        let full = (0..<1650).map { UInt8(truncatingIfNeeded: $0) }
        for start in stride(from: 0, to: 1600, by: 200) {
            #expect(fixture.fragment(Array(full[start..<start + 200]), .moreToCome) == [])
        }
        #expect(fixture.fragment(Array(full[1600...]), .complete).map(\.data) == [full])
        #expect(fixture.assembler.counts.occurred.isEmpty)

        for start in stride(from: 0, to: 1600, by: 200) {
            _ = fixture.fragment(Array(full[start..<start + 200]), .moreToCome)
        }
        #expect(fixture.fragment(Array(full[1600...]) + [0xFF], .moreToCome) == [])
        #expect(fixture.assembler.counts[.chainTooLong] == 1)
        // It is counted once per chain, and the chain ends with its last fragment.
        #expect(fixture.fragment([UInt8](repeating: 0xFF, count: 200), .moreToCome, at: 4) == [])
        #expect(
            fixture.fragment([0xFF], .complete, at: 5)
                == [ReceivedReport(data: full, rssi: -60, adapter: 0, time: 5, status: .truncated)])
        #expect(fixture.assembler.counts[.chainTooLong] == 1)
        #expect(fixture.assembler.counts.occurred.count == 1)
    }

    @Test func `B5: the 65th chain ends the least recently extended one, which is read as received, and counted`() {
        #expect(ExtendedReportAssembler.chainsMax == 64)
        var fixture = AssemblerFixture()
        let addresses = (0..<66).map { DeviceAddress($0, kind: .public) }
        for (index, address) in addresses[..<64].enumerated() {
            #expect(fixture.fragment([UInt8(index)], .moreToCome, address: address) == [])
        }
        // The first chain is extended, so the second one is the oldest.
        #expect(fixture.fragment([100], .moreToCome, address: addresses[0]) == [])
        #expect(fixture.assembler.counts.occurred.isEmpty)
        #expect(fixture.fragment([64], .moreToCome, address: addresses[64]).map(\.data) == [[1]])
        #expect(fixture.assembler.counts[.chainsTooMany] == 1)
        #expect(fixture.fragment([65], .moreToCome, address: addresses[65]).map(\.data) == [[2]])
        #expect(fixture.assembler.counts[.chainsTooMany] == 2)
        #expect(fixture.fragment([101], .complete, address: addresses[0]).map(\.data) == [[0, 100, 101]])
        // The next fragment of a chain that was ended does not continue it.
        #expect(fixture.fragment([102], .complete, address: addresses[1]).map(\.data) == [[102]])
        fixture.assembler.flush(adapter: nil)
        #expect(fixture.drain().map(\.data.count) == [Int](repeating: 1, count: 63))
        #expect(fixture.assembler.isIdle)
        #expect(fixture.assembler.counts.occurred.map(\.kind) == [.chainAbandoned, .chainsTooMany])
    }

    @Test func `if more than 128 ready chains are not fetched, the oldest is dropped and counted`() {
        var assembler = ExtendedReportAssembler()
        let bytes: [UInt8] = [0, 1]
        let report = AdvertisingReport(address: nil, rssi: nil, properties: [], status: .truncated, data: 0..<2)
        for index in 0..<1000 {
            let time = Instant(nanoseconds: Int64(index))
            _ = assembler.take(report, adapter: 0, time: time, of: bytes.span)
        }
        #expect(assembler.counts[.chainTruncated] == 1000)
        #expect(assembler.counts[.chainsTooMany] == 1000 - 128)
        var times: [Int64?] = []
        var data: [UInt8] = []
        while let ready = assembler.nextReady(into: &data) { times.append(ready.time?.nanoseconds) }
        #expect(times == (872..<1000).map { Int64($0) })
        #expect(assembler.isIdle)
    }

    @Test(arguments: [0..<9, 5..<9, 2..<3, 100..<200])
    func `a report whose data are not all in the given bytes has those that are`(range: Range<Int>) {
        var assembler = ExtendedReportAssembler()
        let bytes: [UInt8] = [10, 11]
        let report = AdvertisingReport(address: nil, rssi: nil, properties: [], status: .truncated, data: range)
        let isWhole = assembler.take(report, adapter: 0, time: nil, of: bytes.span)
        #expect(!isWhole)
        var data: [UInt8] = []
        #expect(assembler.nextReady(into: &data)?.report.data == 0..<(range.lowerBound == 0 ? 2 : 0))
    }
}
