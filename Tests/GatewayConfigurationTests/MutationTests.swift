import Foundation
import TestSupport
import Testing

@testable import GatewayConfiguration

@Suite struct MutationTests {
    private static let fragments = [
        ":", ": ", "- ", "\n", "\t", "{", "}", "[", "]", "\"", "'", "#", "&a ", "*a", "!b ", "|\n", ">\n", "? ",
        "---\n",
        "...\n", "<<: ", "%", "~", "null", "\\", "\u{2028}", "ä", "𝄞", "99999999999999999999", "-1", "0.5s", "\r", ",",
        "monitors:\n", "conditions:\n", "  ", "uuid", "radius: 1\n",
    ].map { Array($0.utf8) }

    /// Returns the sample without its comments. It is shorter, so a mutation is more likely to change a setting.
    private static func seedText() throws -> [UInt8] {
        let lines = try Sample.text().split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("#") }
        return Array(lines.joined(separator: "\n").utf8)
    }

    @Test func `any mutation of the sample gives a configuration or a bounded list of errors in order`() throws {
        let rounds = environment("BEACON_CONFIGURATION_MUTATIONS", default: 1500)
        let seed = SeededGenerator.seed
        var random = SeededGenerator(state: seed)
        let original = try Self.seedText()
        var refused = 0
        for _ in 0..<rounds {
            var bytes = original
            for _ in 0..<Int.random(in: 1...6, using: &random) { Self.mutate(&bytes, using: &random) }
            switch Configuration.parse(bytes, file: "m") {
            case .success(let configuration):
                #expect(!configuration.monitors.isEmpty)
            case .failure(let errors):
                refused += 1
                #expect((1...ConfigurationErrors.listedMost).contains(errors.listed.count), "seed \(seed)")
                #expect(errors.listed.map(\.position) == errors.listed.map(\.position).sorted(), "seed \(seed)")
                #expect(errors.more == 0 || errors.listed.count == ConfigurationErrors.listedMost, "seed \(seed)")
            }
        }
        #expect(refused > rounds / 4)
    }

    private static func mutate(_ bytes: inout [UInt8], using random: inout SeededGenerator) {
        guard !bytes.isEmpty else { return }
        let place = Int.random(in: 0..<bytes.count, using: &random)
        let length = min(Int.random(in: 1...40, using: &random), bytes.count - place)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.removeSubrange(place..<(place + length))
        case 2: bytes.insert(contentsOf: fragments.randomElement(using: &random) ?? [], at: place)
        case 3:
            bytes.insert(
                contentsOf: Array(bytes[place..<(place + length)]), at: Int.random(in: 0...bytes.count, using: &random))
        case 4: bytes.removeSubrange(place...)
        default: bytes[place] = UInt8.random(in: 0x20...0x7E, using: &random)
        }
    }

    @Test func `random bytes give at least one error and never a configuration`() {
        var random = SeededGenerator(state: 7)
        for _ in 0..<500 {
            let bytes = (0..<Int.random(in: 0...64, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            #expect(!errors(bytes).isEmpty)
        }
    }

    @Test func `a prefix of a file is accepted or gives an error`() throws {
        let text = try Self.seedText()
        for length in stride(from: 0, to: text.count, by: 3) {
            if case .failure(let found) = Configuration.parse(Array(text[..<length]), file: "m") {
                #expect(!found.listed.isEmpty)
            }
        }
    }
}
