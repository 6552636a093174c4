package import BluetoothLE

/// Which adapters are used: those that go by a listed name at present, and those whose controller has a listed address,
/// whatever they go by (rule L7).
///
/// One that takes over the name under which a controller was used by its address alone is not used. A name and an address
/// may mean the same adapter: it is used all the same, and another that takes over the name is used too.
package struct AdapterSelection: Sendable, Hashable {
    /// All that there are and that come.
    package static let all = AdapterSelection(numbers: [], addresses: [], isAll: true)

    private var numbers: Set<Int>
    // Without their kinds: a controller's address is public, whatever tells of it.
    private var addresses: Set<UInt64>
    private var isAll: Bool

    private init(numbers: Set<Int>, addresses: Set<UInt64>, isAll: Bool) {
        self.numbers = numbers
        self.addresses = addresses
        self.isAll = isAll
    }

    /// Those with the kernel's numbers: 0 is `hci0`.
    package init(numbers: Set<Int>) { self.init(numbers: numbers, addresses: [], isAll: false) }

    /// Those that are named as the kernel does, and those with the addresses that are spelt out; all where nothing is
    /// listed. What is neither selects nothing.
    package init(_ entries: some Collection<String>) {
        self.init(numbers: [], addresses: [], isAll: entries.isEmpty)
        for entry in entries {
            if let number = Self.number(of: entry) {
                numbers.insert(number)
            } else if let address = DeviceAddress(entry, kind: .public), address.value != 0 {
                addresses.insert(address.value)
            }
        }
    }

    /// Whether an adapter is used: absent an address, which is not known yet, the number that it goes by decides.
    package func includes(_ number: Int, address: DeviceAddress?) -> Bool {
        isAll || numbers.contains(number) || address.map { addresses.contains($0.value) } ?? false
    }

    /// Whether an adapter with that number may be used; where its number is not listed its address has to tell.
    package func mayInclude(_ number: Int) -> Bool { isAll || !addresses.isEmpty || numbers.contains(number) }

    /// The number of an adapter that is named as the kernel does: 0 for `hci0`; `nil` for any other name.
    package static func number(of name: String) -> Int? {
        guard name.hasPrefix("hci"), let number = UInt16(name.dropFirst(3)), "hci\(number)" == name else {
            return nil
        }
        return Int(number)
    }
}
