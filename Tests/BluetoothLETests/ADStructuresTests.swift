import BluetoothLE
import Testing

@Suite struct ADStructuresTests {
    private func structures(_ payload: [UInt8]) -> (found: [ADStructure], error: ADStructureError?) {
        var cursor = ADStructures()
        var found: [ADStructure] = []
        do {
            while let structure = try cursor.next(in: payload.span) { found.append(structure) }
        } catch { return (found, error) }
        return (found, nil)
    }

    @Test func `structures are returned in order, each with its type and the range of its data`() {
        let (found, error) = structures(flags + ad(0x09, Array("Tag".utf8)))
        #expect(error == nil)
        #expect(found.map(\.type) == [0x01, 0x09])
        #expect(found.map(\.data) == [2..<3, 5..<8])
    }

    @Test func `a structure that has only a type has no data`() {
        let (found, error) = structures([0x01, 0x09, 0x02, 0x0A, 0x04])
        #expect(found.map(\.data) == [2..<2, 4..<5])
        #expect(error == nil)
    }

    @Test func `an empty payload has no structure and no error`() {
        #expect(structures([]).found == [])
        #expect(structures([]).error == nil)
    }

    @Test func `B3: a length of zero ends the data and is not an error`() {
        let (found, error) = structures(flags + [0x00] + ad(0xFF, frame))
        #expect(found.map(\.type) == [0x01])
        #expect(error == nil)
        #expect(beacons(in: [0x00] + ad(0xFF, frame)).found == [])
        #expect(beacons(in: ad(0xFF, frame) + [0x00, 0x1A]).found == [beacon])
        #expect(beacons(in: ad(0xFF, frame) + [0x00, 0x1A]).error == nil)
    }

    @Test func `B3: a structure that fills the payload is complete, with one byte less it is not`() {
        let payload = flags + ad(0xFF, frame)
        #expect(beacons(in: payload).found == [beacon])
        #expect(beacons(in: payload).error == nil)
        let (found, error) = beacons(in: payload.dropLast())
        #expect(found == [])
        #expect(error == .truncated(offset: 3, declaredLength: 26, available: 25))
    }

    @Test(
        arguments: [
            ([0x01], 0, 1, 0), ([0xFF], 0, 255, 0), ([0x03, 0xFF, 0x4C], 0, 3, 2),
            ([0x02, 0x01, 0x06, 0x05, 0x09], 3, 5, 1),
            ([0x01, 0x09, 0x02], 2, 2, 0),
        ] as [([UInt8], Int, Int, Int)])
    func `B3: the error of a structure past the end has its offset, its declared length and the available one`(
        payload: [UInt8], offset: Int, declared: Int, available: Int
    ) {
        let expected = ADStructureError.truncated(offset: offset, declaredLength: declared, available: available)
        #expect(structures(payload).error == expected)
        #expect(beacons(in: payload).error == expected)
        #expect(expected.malformation == .adStructureTruncated)
        #expect(
            expected.description
                == "the AD structure at byte \(offset) declares \(declared) bytes, but has \(available)")
    }

    @Test func `B3: an iBeacon before a malformed structure counts`() {
        let (found, error) = beacons(in: ad(0xFF, frame) + [0x1A, 0xFF, 0x4C])
        #expect(found == [beacon])
        #expect(error == .truncated(offset: 27, declaredLength: 26, available: 2))
    }

    @Test(arguments: [
        [], flags, flags + ad(0x09, [0x41]), ad(0xFF, [0x4C, 0x00, 0x10, 0x05]), ad(0xFF, [0xEC, 0x88] + frame),
        ad(0xFF, Array(frame.dropLast())), ad(0x16, frame),
    ])
    func `B2: an iBeacon can be at any position among the structures`(before: [UInt8]) {
        #expect(beacons(in: before + ad(0xFF, frame)).found == [beacon])
        #expect(beacons(in: before + ad(0xFF, frame) + flags).found == [beacon])
    }

    @Test func `B2: each iBeacon of a report is a sighting, in order, also if it is repeated`() {
        let payload = ad(0xFF, frame(minor: 2)) + flags + ad(0xFF, frame(minor: 1)) + ad(0xFF, frame(minor: 2))
        #expect(beacons(in: payload).found.map(\.identity.minor) == [2, 1, 2])
    }

    @Test func `B2: a frame at the very end of a payload of 484 bytes is found`() {
        let filler = ad(0x09, [UInt8](repeating: 0x41, count: 253)) + ad(0x09, [UInt8](repeating: 0x41, count: 200))
        #expect(beacons(in: filler + ad(0xFF, frame)).found == [beacon])
    }

    @Test func `a cursor that gets another, shorter payload reads nothing past its end`() throws {
        var cursor = ADStructures()
        let (long, short) = (flags + flags + ad(0xFF, frame), flags)
        _ = try cursor.next(in: long.span)
        _ = try cursor.next(in: long.span)
        let structure = try cursor.next(in: short.span)
        #expect(structure == nil)
        let found = try cursor.nextBeacon(in: short.span)
        #expect(found == nil)
    }
}
