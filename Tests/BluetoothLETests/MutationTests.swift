import BluetoothLE
import TestSupport
import Testing

/// Returns whether the bytes can contain the iBeacon. It only searches for the bytes of the structure, as a simple
/// second decoder.
private func couldHold(_ beacon: IBeacon, _ data: [UInt8]) -> Bool {
    let needle: [UInt8] =
        [0xFF, 0x4C, 0x00, 0x02, 0x15] + bytes(beacon.identity.uuid.description.filter { $0 != "-" })
        + [
            UInt8(beacon.identity.major >> 8), UInt8(beacon.identity.major & 0xFF), UInt8(beacon.identity.minor >> 8),
            UInt8(beacon.identity.minor & 0xFF), UInt8(bitPattern: beacon.measuredPower ?? -128),
        ]
    return data.indices.contains { data[$0...].starts(with: needle) }
}

@Suite struct MutationTests {
    /// Returns the bytes after one to six random mutations, as radio, a disk or a hostile sender can cause them:
    /// changed, cut off, removed, added or repeated bytes.
    private func mutate(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...6, using: &generator) where !bytes.isEmpty {
            let index = bytes.indices.randomElement(using: &generator) ?? 0
            switch Int.random(in: 0..<7, using: &generator) {
            case 0: bytes[index] = .random(in: 0...255, using: &generator)
            case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 2: bytes[index] = [0x00, 0x01, 0x1A, 0x1B, 0x7F, 0xFE, 0xFF].randomElement(using: &generator) ?? 0
            case 3: bytes.removeSubrange(index...)
            case 4: bytes.remove(at: index)
            case 5: bytes.insert(.random(in: 0...255, using: &generator), at: index)
            default: bytes.insert(contentsOf: bytes[index...].prefix(40), at: index)
            }
        }
        return bytes
    }

    @Test func `B1, B3: mutated vectors never trap, and give only sightings that are in their bytes`() {
        var generator = SeededGenerator(state: SeededGenerator.seed)
        let vectors = AdvertVector.all.map { ($0.kind, bytes($0.hex)) } + seeds
        var sightings = 0
        for _ in 0..<10_000 {
            let (kind, original) = vectors.randomElement(using: &generator) ?? ("adv", [])
            let bytes = mutate(original, &generator)
            var found: [IBeacon] = []
            if kind == "adv" {
                found = beacons(in: bytes).found
            } else {
                let event = Array(bytes.dropFirst())
                for report in reports(of: event).found {
                    // The data must be inside the event and inside its declared parameters.
                    #expect(report.data.upperBound <= min(event.count, 2 + Int(event[1])))
                    found += beacons(in: Array(event[report.data])).found
                }
            }
            sightings += found.count
            for beacon in found { #expect(couldHold(beacon, bytes), "\(hex(bytes))") }
        }
        // If no mutation leaves an iBeacon intact, the test proves nothing.
        #expect(sightings > 100)
    }

    @Test func `B4: mutated frames never trap, and give only sightings that are in their bytes`() {
        var generator = SeededGenerator(state: SeededGenerator.seed)
        let payload = flags + ad(0xFF, frame)
        let address = bytes("070000E598C0")
        let frames = [
            linkLayerFrame(type: 0x00, address + payload), linkLayerFrame(type: 0x04, address + payload),
            linkLayerFrame(type: 0x07, [0x09, 0x09] + address + [0x23, 0x51] + payload),
            linkLayerFrame(type: 0x07, [0x0C, 0x19] + address + [0x23, 0x51, 0x09, 0x64, 0x00] + payload),
            linkLayerFrame(type: 0x07, [0x03, 0x08, 0x23, 0x51] + payload),
        ]
        var (sightings, rejected) = (0, 0)
        for _ in 0..<10_000 {
            let bytes = mutate(frames.randomElement(using: &generator) ?? [], &generator)
            for check in [FrameCheck.valid, .unchecked] {
                do {
                    let range = 0..<bytes.count
                    let report = try LinkLayerPDU.advertisingReport(of: bytes.span, in: range, rssi: nil, check: check)
                    guard let report else { continue }
                    #expect(report.data.upperBound <= bytes.count)
                    let found = beacons(in: Array(bytes[report.data])).found
                    sightings += found.count
                    for beacon in found { #expect(couldHold(beacon, bytes), "\(hex(bytes))") }
                } catch { rejected += 1 }
            }
        }
        #expect(sightings > 100)
        #expect(rejected > 100)
    }

    @Test func `B5: random fragments give the data of each advertiser end to end, up to 1650 bytes`() {
        var generator = SeededGenerator(state: SeededGenerator.seed)
        var fixture = AssemblerFixture()
        // One chain for each adapter and SID: 48, fewer than the maximum.
        var underWay: [[UInt8]: [UInt8]] = [:]
        var (ended, tooLong) = (0, 0)
        for _ in 0..<10_000 {
            let data = mutate(ad(0xFF, frame), &generator)
            let key = [UInt8.random(in: 0...2, using: &generator), .random(in: 0...15, using: &generator)]
            let status: AdvertisingReport.DataStatus =
                Int.random(in: 0..<40, using: &generator) == 0 ? .truncated : .moreToCome
            let received = fixture.fragment(data, status, sid: key[1], adapter: Int(key[0]))
            underWay[key, default: []] += data
            guard status == .truncated else {
                #expect(received == [])
                continue
            }
            let whole = underWay.removeValue(forKey: key) ?? []
            #expect(received.map(\.data) == [Array(whole.prefix(1650))])
            ended += 1
            tooLong += whole.count > 1650 ? 1 : 0
        }
        #expect(ended > 100)
        #expect(fixture.assembler.counts[.chainTruncated] == ended)
        // Chains that are still open are counted already.
        #expect(fixture.assembler.counts[.chainTooLong] == tooLong + underWay.values.count { $0.count > 1650 })
    }

    /// Extended reports, and events with several reports, of which the vectors have few.
    private let seeds: [(String, [UInt8])] = [
        ("event", [0x04] + extendedEvent(WireReport(data: flags + ad(0xFF, frame)))),
        (
            "event",
            [0x04] + extendedEvent(WireReport(data: ad(0xFF, frame)), WireReport(data: ad(0xFF, frame(minor: 9))))
        ),
        ("event", [0x04] + legacyEvent(WireReport(data: flags + ad(0xFF, frame)), WireReport(data: ad(0xFF, frame)))),
    ]
}
