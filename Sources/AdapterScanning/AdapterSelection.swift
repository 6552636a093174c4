package import BluetoothLE

/// The adapters that a gateway uses: each adapter that has a listed name at present, and each adapter whose controller
/// has a listed address, whatever its name is (rule L7).
///
/// If a controller was selected only by its address, another adapter that gets its name later is not used. If a name
/// and an address are listed for the same adapter, the adapter is used, and so is another adapter that gets the name.
package struct AdapterSelection: Sendable, Hashable {
    /// All adapters, present and future.
    package static let all = AdapterSelection(numbers: [], addresses: [], isAll: true)

    private var numbers: Set<Int>
    // Without address kinds, because the address of a controller is always public.
    private var addresses: Set<UInt64>
    private var isAll: Bool

    private init(numbers: Set<Int>, addresses: Set<UInt64>, isAll: Bool) {
        self.numbers = numbers
        self.addresses = addresses
        self.isAll = isAll
    }

    /// Selects adapters by the kernel's numbers: 0 is `hci0`.
    package init(numbers: Set<Int>) { self.init(numbers: numbers, addresses: [], isAll: false) }

    /// Selects adapters by their kernel names (`hci0`) and their addresses. An empty list selects all adapters. An
    /// entry that is neither a name nor an address selects nothing.
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

    /// Returns whether an adapter is used. If its address is not known yet (`nil`), only its number decides.
    package func includes(_ number: Int, address: DeviceAddress?) -> Bool {
        isAll || numbers.contains(number) || address.map { addresses.contains($0.value) } ?? false
    }

    /// Returns whether an adapter with this number can be used: `true` if all adapters are selected, if the number is
    /// listed, or if any address is listed, because then the adapter's address must decide.
    package func mayInclude(_ number: Int) -> Bool { isAll || !addresses.isEmpty || numbers.contains(number) }

    /// Returns the number in a kernel name of an adapter: 0 for `hci0`; `nil` for any other name.
    package static func number(of name: String) -> Int? {
        guard name.hasPrefix("hci"), let number = UInt16(name.dropFirst(3)), "hci\(number)" == name else {
            return nil
        }
        return Int(number)
    }
}
