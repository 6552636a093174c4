import BluetoothLE
import Foundation
import Testing

@testable import JSON

/// The output must be valid JSON for every input.
@Suite struct WritingTests {
    @Test func `members are written in order, with commas only between them`() {
        let written = text { buffer in
            buffer.object { buffer in
                buffer.write("a", 1)
                buffer.object("b") { _ in }
                buffer.object("c") { $0.write("d", true) }
                buffer.array("e", [Int]()) { $0.append($1) }
                buffer.array("f", [1, 2]) { $0.append($1) }
                buffer.objects("g", ["x", "y"]) { $0.write("h", $1) }
                buffer.array("i", [[1, 2], [], [3]]) { buffer, row in buffer.array(row) { $0.append($1) } }
                buffer.write("j", nil as String?)
                buffer.write("k", ["{", "[", ","])
                buffer.write(named: "{", 7)
                buffer.write("l", word: "m")
            }
        }
        #expect(
            written
                == #"{"a":1,"b":{},"c":{"d":true},"e":[],"f":[1,2],"g":[{"h":"x"},{"h":"y"}],"i":[[1,2],[],[3]],"#
                + #""k":["{","[",","],"{":7,"l":"m"}"#)
    }

    @Test func `an array with each element on its own line is valid JSON`() throws {
        let written = text { buffer in
            buffer.object { $0.objects("a", [1, 2], onLines: true) { $0.write("b", $1) } }
        }
        #expect(written == "{\"a\":[\n{\"b\":1},\n{\"b\":2}]}")
        #expect(try JSONSerialization.jsonObject(with: Data(written.utf8)) as? [String: [[String: Int]]] != nil)
    }

    @Test(arguments: ["", "{", "[", ",", "\"", "\\", "\u{0}", "é{", "𝄞[", "a\nb"])
    func `a text of any characters is read back unchanged as a value, a key and an element`(given: String) throws {
        let written = text { buffer in
            buffer.object { buffer in
                buffer.write("text", given)
                buffer.write(named: given, 1)
                buffer.write("texts", [given, given])
            }
        }
        let object = try #require(JSONSerialization.jsonObject(with: Data(written.utf8)) as? [String: Any])
        #expect(object["text"] as? String == given)
        #expect(object[given] as? Int == 1)
        #expect(object["texts"] as? [String] == [given, given])
    }

    @Test func `characters that are not allowed are escaped, those beyond U+FFFF as surrogate pairs`() throws {
        var buffer = LineBuffer(capacity: 64) { $0.value < 0x7F || $0 == "é" }
        buffer.string("aé\"\u{9B}𝄞\u{202E}")
        #expect(buffer.text == #""aé\"\u009B\uD834\uDD1E\u202E""#)
        let read = try JSONSerialization.jsonObject(with: Data(buffer.bytes), options: .fragmentsAllowed)
        #expect(read as? String == "aé\"\u{9B}𝄞\u{202E}")
    }

    @Test func `a beacon is written as its UUID, major and minor`() {
        let uuid = ProximityUUID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210)
        let beacon = BeaconIdentity(uuid: uuid, major: 65_535, minor: 0)
        #expect(
            text { buffer in buffer.object { $0.write(beacon) } }
                == #"{"uuid":"01234567-89AB-CDEF-FEDC-BA9876543210","major":65535,"minor":0}"#)
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000000Z"), (1, "1970-01-01T00:00:00.000000001Z"),
        (1_795_247_187_123_456_789, "2026-11-21T07:46:27.123456789Z"),
        (1_795_247_187_123_456_000, "2026-11-21T07:46:27.123456Z"), (-1, "1969-12-31T23:59:59.999999999Z"),
    ])
    func `a date has nanoseconds if it is not a whole number of microseconds`(nanoseconds: Int64, date: String) {
        #expect(text { $0.append(dateOfNanoseconds: nanoseconds) } == date)
    }

    @Test(arguments: [(0, "0.0"), (5, "0.5"), (-5, "-0.5"), (-615, "-61.5"), (10, "1.0")])
    func `tenths have one decimal`(tenths: Int, text written: String) {
        #expect(text { $0.append(tenths: tenths) } == written)
    }

    /// Returns the outermost value of a text, written again; `nil` if the text is not valid JSON.
    private func copied(_ given: String) -> String? {
        var parsed = JSONText(Array(given.utf8))
        guard parsed.parse() else { return nil }
        return text { $0.append(parsed, at: 0) }
    }

    @Test(arguments: [
        #"{"a":[1,-2,0.5,-0,1e9,-12.5E-3],"b":{"c":true,"d":false,"e":null,"f":[],"g":{}},"h":["x"]}"#,
        #"{"version":2,"type":"event","gateway":"Büro 🏠","sequence":17,"x":"\"\\\u001B"}"#, "[]", "{}", #""""#, "0",
    ])
    func `JSON that a buffer wrote is copied byte for byte`(given: String) {
        #expect(copied(given) == given)
    }

    @Test(arguments: [
        (" { \"a\" :\r[ 1 ,\t2 ]\n} ", #"{"a":[1,2]}"#), ("[7,-0.50,0]", "[7,-0.50,0]"),
        (#""\/\b\f\n\r\t""#, #""/\u0008\u000C\u000A\u000D\u0009""#), (#""\ud83c\udfe0\ud800""#, "\"🏠\u{FFFD}\""),
        (#"{"a\"b":{"":1}}"#, #"{"a\"b":{"":1}}"#),
    ])
    func `JSON with white space and other escapes is copied to one line`(given: String, expected: String) throws {
        let written = try #require(copied(given))
        #expect(written == expected)
        _ = try JSONSerialization.jsonObject(with: Data(written.utf8), options: .fragmentsAllowed)
    }

    @Test(arguments: ["\u{0B}{\u{0C}}", "[007,-00.50,00]", #""\x""#])
    func `a text that is not strictly JSON is not copied`(given: String) {
        #expect(copied(given) == nil)
    }

    @Test func `invalid UTF-8 becomes U+FFFD`() {
        var parsed = JSONText(Array("\"a".utf8) + [0xFF, 0xC3] + Array("b\"".utf8))
        let isJSON = parsed.parse()
        #expect(isJSON)
        #expect(text { $0.append(parsed, at: 0) } == "\"a\u{FFFD}\u{FFFD}b\"")
    }
}
