import SiteMonitoring
import Testing

@Suite struct LogWordsTests {
    @Test(arguments: ["a", "lobby-2", "A_b9", String(repeating: "x", count: 64)])
    func `a name has 1 to 64 letters, digits, hyphens and underscores`(_ text: String) throws {
        #expect(try LogName(text).description == text)
    }

    @Test(arguments: ["", "a.b", "a b", "a/b", "*", ">", "ü", "a\n", "a\0", String(repeating: "x", count: 65)])
    func `a name that is empty, too long, or special for a broker or a file system is invalid`(_ text: String) {
        #expect(throws: SiteLogError.badName(String(text.prefix(64)))) { try LogName(text) }
    }

    @Test func `the description of a key has the boot in 32 hexadecimal digits`() throws {
        let gateway = try LogName("lobby")
        #expect(
            BatchKey(gateway: gateway, boot: 0xA, sequence: 7).description
                == "lobby/0000000000000000000000000000000a/7")
        #expect(
            BatchKey(gateway: gateway, boot: .max, sequence: .max).description
                == "lobby/ffffffffffffffffffffffffffffffff/18446744073709551615")
    }

    @Test func `a range has at least one batch, and starts at the first batch or later`() {
        let range = LogRange(from: 0, countMax: -1, bytesMax: -1, patience: .seconds(-1))
        #expect(range == LogRange(from: 1, countMax: 1, bytesMax: 0, patience: .zero))
    }

    @Test func `only an unanswered request can have been executed, and only three errors can be temporary`() {
        let all: [SiteLogError] = [
            .unavailable("x"), .unanswered(.seconds(5)), .full("x"), .tooBig("x", bytes: 2, most: 1),
            .tooMany("x", count: 2, most: 1), .notPermitted("x"), .missing("x"), .damaged("x", "y"), .refused("x"),
            .badName("x"),
        ]
        #expect(all.filter(\.mayBeDone) == [.unanswered(.seconds(5))])
        #expect(all.filter(\.mayPass) == [.unavailable("x"), .unanswered(.seconds(5)), .full("x")])
        #expect(Set(all.map(\.description)).count == all.count)
    }
}
