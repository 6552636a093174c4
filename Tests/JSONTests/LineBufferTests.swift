import BluetoothLE
import TestSupport
import Testing

@testable import JSON

/// Returns the text that `body` appends to an empty buffer.
func text(_ body: (inout LineBuffer) -> Void) -> String {
    var buffer = LineBuffer(capacity: 0)
    body(&buffer)
    return buffer.text
}

@Suite struct LineBufferTests {
    @Test(arguments: [
        0, 1, -1, 9, 10, 11, 99, 100, -99, -100, 65_535, 1_000_000_000, 999_999_999_999_999_999,
        1_000_000_000_000_000_000, Int.max, Int.max - 1, Int.min, Int.min + 1,
    ])
    func `whole numbers are written in decimal`(number: Int) {
        #expect(text { $0.append(number) } == String(number))
    }

    @Test func `random whole numbers of every length are written in decimal`() {
        var generator = SeededGenerator(state: SeededGenerator.seed)
        for shift in 0..<64 {
            let number = Int.random(in: .min ... .max, using: &generator) >> shift
            #expect(text { $0.append(number) } == String(number))
        }
    }

    @Test func `numbers with a fixed length have leading zeros`() {
        #expect(text { $0.append(7, digits: 3) } == "007")
        #expect(text { $0.append(0, digits: 12) } == "000000000000")
        #expect(text { $0.append(123_456, digits: 6) } == "123456")
    }

    @Test(arguments: [
        (0, "0.0"), (1, "0.000001"), (-1, "-0.000001"), (1_000_000, "1.0"), (1_500_000, "1.5"), (-1_500_000, "-1.5"),
        (70_500_000, "70.5"), (999_999, "0.999999"), (100_000, "0.1"), (1_000_010, "1.00001"),
        (2_592_000_000_000, "2592000.0"), (Int64.max, "9223372036854.775807"), (Int64.min, "-9223372036854.775808"),
    ])
    func `millionths have one to six decimals, without other trailing zeros`(
        microseconds: Int64, seconds: String
    ) {
        #expect(text { $0.append(millionths: microseconds) } == seconds)
    }

    @Test(arguments: [
        ("", ""), ("a", "a"), ("\"", #"\""#), ("\\", #"\\"#), ("/", "/"), ("\n", #"\u000A"#),
        ("\t\r", #"\u0009\u000D"#),
        ("\u{0}\u{1F}\u{20}", #"\u0000\u001F "#), ("\u{7F}", "\u{7F}"), ("é", "é"), ("𝄞", "𝄞"),
        ("\u{2028}", "\u{2028}"),
    ])
    func `text is escaped as RFC 8259 requires`(plain: String, escaped: String) {
        #expect(text { $0.append(escaped: plain) } == escaped)
    }

    @Test func `UUIDs and addresses are written in upper case`() {
        let uuid = ProximityUUID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210)
        #expect(text { $0.append(uuid) } == "01234567-89AB-CDEF-FEDC-BA9876543210")
        let beacon = BeaconIdentity(uuid: uuid, major: 0, minor: 65_535)
        #expect(text { $0.append(beacon) } == beacon.description)
        #expect(text { $0.append(DeviceAddress(0x0A1B_2C3D_4E5F, kind: .public)) } == "0A:1B:2C:3D:4E:5F")
    }

    @Test func `a buffer grows as needed and keeps its content until removeAll`() {
        var buffer = LineBuffer(capacity: 1)
        var expected = ""
        for number in 0..<20_000 {
            buffer.append(number)
            buffer.append(byte: 0x0A)
            expected += "\(number)\n"
        }
        buffer.append(escaped: String(repeating: "\u{1}", count: 50_000))
        #expect(
            buffer.text == expected + String(repeating: #"\u0001"#, count: 50_000))
        buffer.removeAll()
        #expect(buffer.bytes.isEmpty)
        buffer.append([])
        #expect(buffer.count == 0)
    }
}
