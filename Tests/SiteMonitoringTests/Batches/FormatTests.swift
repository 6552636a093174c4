import BluetoothLE
import SiteMonitoring
import TestSupport
import Testing

@Suite struct FormatTests {
    private static let seed = SeededGenerator.seed

    private static func isTaken(_ bytes: [UInt8]) -> Bool {
        do throws(BatchFormatError) { return try !Batch(bytes: bytes).bytes.isEmpty } catch { return false }
    }

    @Test func `a batch that is encoded and decoded again equals the original`() throws {
        var batches = RandomBatch(seed: Self.seed)
        for number in 0..<400 {
            let batch = try batches.next()
            let isSame = try Batch(bytes: batch.bytes) == batch
            #expect(isSame, "batch \(number) of seed \(Self.seed)")
        }
    }

    @Test func `a truncated or extended batch is refused, even with a valid checksum`() throws {
        var batches = RandomBatch(seed: Self.seed, areSmall: true)
        for number in 0..<30 {
            let bytes = try batches.next().bytes
            var taken: [Int] = []
            for count in bytes.indices {
                let short = Array(bytes.prefix(count))
                if Self.isTaken(short) { taken.append(count) }
                // A valid checksum must not help, except at the place where it restores the batch itself.
                if count != bytes.count - 4, Self.isTaken((short + [0, 0, 0, 0]).checked) { taken.append(-count) }
            }
            #expect(taken.isEmpty, "batch \(number) of seed \(Self.seed)")
            #expect(!Self.isTaken((bytes + [0]).checked))
        }
    }

    @Test func `a batch with one flipped bit is refused`() throws {
        var batches = RandomBatch(seed: Self.seed, areSmall: true)
        for number in 0..<15 {
            let bytes = try batches.next().bytes
            var taken: [Int] = []
            for place in bytes.indices {
                for bit in 0..<8 {
                    var damaged = bytes
                    damaged[place] ^= 1 << UInt8(bit)
                    if Self.isTaken(damaged) { taken.append(place) }
                }
            }
            #expect(taken.isEmpty, "batch \(number) of seed \(Self.seed)")
        }
    }

    @Test func `forged bytes are refused, or are the valid encoding of the batch that they contain`() throws {
        var batches = RandomBatch(seed: Self.seed, areSmall: true)
        var random = SeededGenerator(state: Self.seed)
        var read = 0
        for _ in 0..<100 {
            let bytes = try batches.next().bytes
            for place in 4..<bytes.count {
                var made = bytes
                made[place] = random.pick([made[place] ^ 1, made[place] ^ 0x80, 0, 0xFF, UInt8(random.below(256))])
                if random.chance(30) { made.remove(at: random.below(made.count - 5) + 4) }
                if random.chance(30) { made.insert(UInt8(random.below(256)), at: random.below(made.count - 4)) }
                made = made.checked
                guard let batch = try? Batch(bytes: made) else { continue }
                read += 1
                guard batch.bytes != made else { continue }
                Issue.record("batch of seed \(Self.seed), byte \(place)")
            }
        }
        // If a time, a name or an RSSI is changed, the result can be another valid batch.
        #expect(read > 1_000, "\(read)")
    }

    @Test func `random bytes after the magic number and the version are refused, even with a valid checksum`() {
        var random = SeededGenerator(state: Self.seed)
        for _ in 0..<5_000 {
            let bytes = [0x42, 0x47, 0x53, 0x42, 1] + (0..<random.below(200)).map { _ in UInt8(random.below(256)) }
            #expect(!Self.isTaken((bytes + [0, 0, 0, 0]).checked))
        }
    }

    /// A count must not be higher than the number of elements for which the remaining bytes have room. Memory is
    /// reserved for no more than that.
    @Test(arguments: [0, 1, 2, 3])
    func `a count above the possible number of elements is refused before memory is reserved`(table: Int) throws {
        let empty = try makeBatch(from: 0, to: 0, adapters: [], sightings: [])
        // The last bytes before the checksum are the numbers of changes, UUIDs, advertisers and sightings.
        var bytes = empty.bytes
        #expect(bytes.suffix(8).prefix(4) == [0, 0, 0, 0])
        let place = bytes.count - 8 + table
        bytes.replaceSubrange(place...place, with: [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F])
        #expect(throws: BatchFormatError.self) { try Batch(bytes: bytes.checked) }
        // The limit is 24 bytes of memory for each byte of a batch. A sighting has at least 4 bytes, and a change at
        // least 3.
        #expect(MemoryLayout<Batch.Sighting>.stride <= 4 * 24)
        #expect(MemoryLayout<Batch.Change>.stride <= 3 * 24)
    }

    @Test func `a number with more bytes than necessary is refused`() throws {
        var bytes = try makeBatch(from: 0, to: 0, adapters: [], sightings: []).bytes
        bytes.replaceSubrange((bytes.count - 5)..<(bytes.count - 4), with: [0x80, 0])
        #expect(
            throws: BatchFormatError.invalid(
                at: bytes.count - 4, "the number of sightings has more bytes than necessary")
        ) {
            try Batch(bytes: bytes.checked)
        }
    }

    @Test func `a later version is refused with the advice to upgrade, and other bytes as not a batch`() throws {
        var bytes = try makeBatch(from: 0, to: 0, adapters: [], sightings: []).bytes
        bytes[4] = 2
        #expect(throws: BatchFormatError.version(2)) { try Batch(bytes: bytes) }
        #expect("\(BatchFormatError.version(2))".contains("upgrade"))
        #expect(throws: BatchFormatError.notABatch) { try Batch(bytes: Array("HELO".utf8) + bytes) }
        #expect(throws: BatchFormatError.notABatch) { try Batch(bytes: []) }
    }

    /// The sizes in section “Size” of docs/site-format.md: one adapter in one second.
    @Test(arguments: [
        (beacons: 0, each: 0, addresses: true, bytes: 89),
        (beacons: 50, each: 1, addresses: false, bytes: 753),
        (beacons: 50, each: 1, addresses: true, bytes: 1053),
        (beacons: 50, each: 10, addresses: true, bytes: 3255),
    ])
    func `one second of an adapter has the stated size`(beacons: Int, each: Int, addresses: Bool, bytes: Int) throws {
        let reports = try Batch.Adapter.Reports(first: at(4_000_000), last: at(4_000_000.99))
        let adapter = try Batch.Adapter(
            name: "hci0", address: DeviceAddress(0x00AA_0100_0002, kind: .public), isListening: true, reports: reports)
        let step = 990_000.0 / Double(max(beacons * each, 1)) / 1_000_000
        let sightings = (0..<(beacons * each)).map { number in
            let address = DeviceAddress(0xC098_E500_0000 + UInt64(number % max(beacons, 1)), kind: .random)
            return Batch.Sighting(
                at: at(4_000_000 + Double(number) * step), adapter: 0,
                advertiser(UInt16(number % beacons), address: addresses ? address : nil), rssi: RSSI(dBm: -70))
        }
        let batch = try makeBatch(
            from: 4_000_000_000_000_000, to: 4_000_001_000_000_000, adapters: [adapter], sightings: sightings)
        #expect(batch.bytes.count == bytes)
    }
}
