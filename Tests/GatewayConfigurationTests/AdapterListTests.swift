import GatewayConfiguration
import Testing

/// `scanner.adapters` has names and addresses (rule L7).
@Suite struct AdapterListTests {
    private func adapters(_ list: String) throws -> [String] {
        try configuration(file("scanner: {adapters: \(list)}")).scanner.adapters
    }

    @Test func `an adapter is given by its kernel name or its address, which is converted to one form`() throws {
        #expect(
            try adapters("[hci0, 00:1a:7d:da:71:13, 00-1A-7D-DA-71-14, '001A7DDA7115']")
                == ["hci0", "00:1A:7D:DA:71:13", "00:1A:7D:DA:71:14", "00:1A:7D:DA:71:15"])
        #expect(try configuration(file("scanner:\n  adapters:\n    - 00:1a:7d:da:71:13")).scanner.adapters.count == 1)
    }

    @Test func `the same address in other letters is the same adapter`() {
        #expect(
            errors(file("scanner: {adapters: [00:1a:7d:da:71:13, 00:1A:7D:DA:71:13]}")) == [
                "g.yaml:1:41: scanner.adapters has 00:1A:7D:DA:71:13 twice; remove one"
            ])
    }

    @Test(arguments: ["hci", "hci01", "hci70000", "wlan0", "lobby/hci0", "00:1A:7D:DA:71", "00:00:00:00:00:00", "''"])
    func `an entry that is neither a name nor an address is an error`(entry: String) {
        let said = errors(file("scanner: {adapters: [\(entry)]}"))
        #expect(said.count == 1)
        #expect(said.first?.hasSuffix("; expected an adapter's name, such as hci0, or its address") == true, "\(said)")
    }
}
