import BaseTypes
import BluetoothLE
import Foundation
import TestSupport
import Testing

@testable import BeaconMonitoring
@testable import EventLog
@testable import JSON

@Suite struct JSONTextTests {
    private func parsed(_ text: String) throws -> JSONText {
        var json = JSONText(Array(text.utf8))
        let isParsed = json.parse()
        try #require(isParsed, "\(text)")
        return json
    }

    @Test(arguments: [
        "", " ", "{", "}", "{}{}", "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}", "\"", "\"\u{1}\"", "\"\\", "tru", "nul", "-",
        "1.", ".5", "1e", "+1", "01x", "[1 2]", "{\"a\":1,}", "\0", String(repeating: "[", count: 100),
    ])
    func `a text that is not JSON is refused as a whole`(text: String) {
        var json = JSONText(Array(text.utf8))
        let isParsed = json.parse()
        #expect(!isParsed)
    }

    /// The cases of JSONTestSuite: name and bytes.
    private static let suite: [(name: String, bytes: [UInt8])] = {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Fixtures/json-test-suite.txt")
        let lines = (try? String(contentsOf: path, encoding: .utf8))?.split(separator: "\n") ?? []
        let cases = lines.map { line in
            let parts = line.split(separator: " ", omittingEmptySubsequences: false)
            let digits = Array(parts[1])
            return (
                name: String(parts[0]),
                bytes: stride(from: 0, to: digits.count, by: 2).map {
                    UInt8(String(digits[$0...$0 + 1]), radix: 16) ?? 0
                }
            )
        }
        return cases + [
            ("n_structure_100000_opening_arrays", [UInt8](repeating: 0x5B, count: 100_000)),
            ("n_structure_open_array_object", (0..<50_000).flatMap { _ in Array(#"[{"":"#.utf8) } + [0x0A]),
        ]
    }()

    @Test func `JSONTestSuite: valid texts are read and invalid ones are refused, by both parsers`() {
        var counts: [Character: Int] = [:]
        for (name, bytes) in Self.suite {
            var json = JSONText(bytes)
            let isParsed = json.parse()
            #expect(isParsed == (ReferenceJSON(bytes) != nil), "\(name)")
            switch name.first {
            case "y": #expect(isParsed, "\(name)")
            case "n": #expect(!isParsed, "\(name)")
            default: break
            }
            counts[name.first ?? " ", default: 0] += 1
        }
        #expect(counts == ["y": 95, "n": 188, "i": 35])
    }

    @Test(arguments: [
        "007", "-01", "[1,\u{B}2]", "\u{C}1", #""\q""#, #""\u12g4""#, #""\u12"#, "0x1", "1.e1", "-", "-a", "1e+", "00",
    ])
    func `a text that RFC 8259 excludes is refused`(text: String) {
        var json = JSONText(Array(text.utf8))
        let isParsed = json.parse()
        #expect(!isParsed)
        #expect(ReferenceJSON(Array(text.utf8)) == nil)
    }

    @Test(arguments: [(64, true), (65, false)])
    func `containers can be nested 64 deep, but not 65 deep`(depth: Int, isValid: Bool) {
        let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        var json = JSONText(Array(text.utf8))
        let isParsed = json.parse()
        #expect(isParsed == isValid)
    }

    @Test(arguments: [255, 256, 257, 10_000])
    func `there can be any number of values`(count: Int) throws {
        let json = try parsed("[" + Array(repeating: "{\"a\":1}", count: count).joined(separator: ",") + "]")
        let places = json.elements(of: 0)
        #expect(places.count == count)
        #expect(places.allSatisfy { json.integer(json.find("a", in: $0)) == 1 })
    }

    @Test func `for randomly changed lines, the parser agrees with the byte-by-byte reference parser`() throws {
        let seed = SeededGenerator.seed
        var random = SeededGenerator(state: seed)
        var event = Sample.event
        event.identifier = "a \"b\" \\ é"
        var lines = [
            Array(#"{"a":[],"b":{},"c":[[1,-2.5e+7],{"d":null}],"e":[true,false],"f":"\\\""} "#.utf8),
            Array(try Sample.line(.event(event), envelope: true).utf8),
            Array(try Sample.line(.visit(Sample.visit), envelope: false).utf8),
        ]
        lines.append([0x20] + lines[0] + [0x0A])
        let bytes = Array("\"\\{}[]:,0-.e tfnu1\t\r\n\u{B}\0\u{1F}é".utf8)
        for _ in 0..<20_000 {
            var line = lines.randomElement(using: &random)!
            for _ in 0..<Int.random(in: 0...3, using: &random) where !line.isEmpty {
                let place = Int.random(in: 0..<line.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: line[place] = bytes.randomElement(using: &random)!
                case 1: line.insert(bytes.randomElement(using: &random)!, at: place)
                case 2: line.remove(at: place)
                default: line.removeLast(line.count - place)
                }
            }
            var json = JSONText(line)
            let isParsed = json.parse()
            let reference = ReferenceJSON(line)
            #expect(isParsed == (reference != nil), "seed \(seed): \(String(decoding: line, as: UTF8.self))")
            guard isParsed, let reference else { continue }
            #expect(
                json.all.elementsEqual(reference.values), "seed \(seed): \(String(decoding: line, as: UTF8.self))")
        }
    }

    @Test func `values are found by key, and values in between are skipped`() throws {
        let json = try parsed(
            #" { "a" : [ { "b" : 1 } , "x" ] , "b" : -7 , "c" : true , "d" : "é\u00e9\n\ud83d\ude00\ud800" } "#)
        #expect(json.integer(json.find("b", in: 0)) == -7)
        #expect(json.elements(of: json.find("a", in: 0)).count == 2)
        #expect(json.bool(json.find("c", in: 0)) == true)
        #expect(json.string(json.find("d", in: 0)) == "éé\n😀\u{FFFD}")
        #expect(json.find("e", in: 0) == nil)
        #expect(json.integer(json.find("c", in: 0)) == nil)
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("9223372036854775807", .max), ("-9223372036854775808", .min),
            ("9223372036854775808", nil),
            ("-9223372036854775809", nil), ("1.0", nil), ("1e3", nil),
        ] as [(String, Int?)])
    func `integers must fit into 64 bits, and have no fraction or exponent`(text: String, number: Int?) throws {
        #expect(try parsed(text).integer(0) == number)
    }

    @Test(
        arguments: [
            ("1", 1_000_000), ("-1.5", -1_500_000), ("0.000001", 1), ("0.0000019", 1), ("9223372036855", nil),
            ("1e3", nil),
        ] as [(String, Int64?)])
    func `seconds are read as microseconds, and further decimals are dropped`(text: String, number: Int64?) throws {
        #expect(try parsed(text).microseconds(0) == number)
    }

    @Test(
        arguments: [
            ("1970-01-01T00:00:00.000000Z", 0), ("2026-11-21T07:46:27.123456Z", 1_795_247_187_123_456),
            ("2000-02-29T23:59:59.999999Z", 951_868_799_999_999), ("1969-12-31T23:59:59.999999Z", -1),
            ("2026-13-21T07:46:27.123456Z", nil), ("2026-11-21T24:46:27.123456Z", nil),
            ("2026-11-21T07:46:27.12345Z", nil), ("2016-12-31T23:59:60.500000Z", 1_483_228_800_500_000),
            ("2026-11-21T07:46:60.000000Z", nil),
            ("2026-11-21 07:46:27.123456Z", nil), ("2026-11-21T07:46:27.123456+", nil),
        ] as [(String, Int64?)])
    func `dates are read in the form of lines, and other forms are refused`(text: String, microseconds: Int64?) throws {
        #expect(try parsed("\"\(text)\"").date(0)?.microseconds == microseconds)
    }

    @Test func `each line that is written is read back with the same values`() throws {
        var event = Sample.event
        event.previous = BeaconMonitor.Event.Previous(state: .unknown, date: WallDate(microseconds: 1_000_001))
        event.diagnostics = [.clockUnsynchronized, .scannerUnavailable]
        event.identifier = "a \"b\" \\ é"
        event.time = Instant(nanoseconds: 1_795_247_187_123_456_000)
        event.lastSeen = event.time
        event.sighting?.time = event.time
        event.sighting?.address = DeviceAddress(0xC098_E500_0007, kind: .unspecified)
        for envelope in [true, false] {
            var parser = LineParser()
            parser.text = JSONText(Array(try Sample.line(.event(event), envelope: envelope).utf8))
            var isLine = parser.parse()
            #expect(isLine)
            #expect(parser.event() == event)
            parser.text = JSONText(Array(try Sample.line(.condition(Sample.change), envelope: envelope).utf8))
            isLine = parser.parse()
            #expect(isLine)
            #expect(parser.conditionChange()?.settings == Sample.change.settings)
            parser.text = JSONText(Array(try Sample.line(.adapter(Sample.adapterChange), envelope: envelope).utf8))
            isLine = parser.parse()
            #expect(isLine)
            #expect(parser.adapterChange()?.reason == "first record")
            parser.text = JSONText(Array(try Sample.line(.visit(Sample.visit), envelope: envelope).utf8))
            isLine = parser.parse()
            #expect(isLine)
            #expect(parser.visit()?.strength == Sample.visit.strength)
        }
    }
}
