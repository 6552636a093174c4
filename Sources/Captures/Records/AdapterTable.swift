import BluetoothLE

/// The adapters that a capture names, each with its place: one of a name is another with each address, and without.
///
/// Bound: ``namesMax`` names are told apart without an address, ``placesMax`` adapters in all; the records of further ones
/// belong to none.
struct AdapterTable {
    static let namesMax = 255
    static let placesMax = 510
    /// The longest name that is taken over, in UTF-8 bytes; the rest is cut off.
    static let nameBytesMax = 128
    /// The index of records that belong to no adapter (the kernel's HCI_DEV_NONE).
    static let noIndex: UInt16 = 0xFFFF

    private(set) var names: [String] = []
    /// The controllers' addresses, where the capture tells them (rule L7).
    private(set) var addresses: [DeviceAddress?] = []
    private var withoutAddress = 0
    /// The places of controllers whose addresses are to come: the kernel does not know them when it has a new index.
    private(set) var awaitingAddress: Set<Int> = []
    /// The place of `hci0`, once it was asked for.
    var defaultPlace: Int?
    // The names' UTF-8 bytes, to be compared with bytes that are no String yet.
    private var utf8: [[UInt8]] = []
    private var last = 0
    // The index that was asked for last; most records are of the same adapter as those before them.
    private var lastIndex = noIndex
    private var lastIndexPlace = 0
    // Where the adapters with an index of a monitor stand: the low ones at once, the rare others by a dictionary.
    // -1 is not met yet, -2 one more than fits.
    private var lowIndexes = [Int16](repeating: -1, count: 256)
    private var highIndexes: [UInt16: Int16] = [:]

    /// The place of the adapter that bears `name`; `nil` where it is one more than fits.
    mutating func place(named name: String, address: DeviceAddress? = nil) -> Int? {
        place(of: Array(name.utf8), 0..<name.utf8.count, address)
    }

    /// The place of the adapter that bears the name whose UTF-8 bytes are `range` of `text`, made safe for terminals and
    /// logs, and has that address.
    mutating func place(of text: [UInt8], _ range: Range<Int>, _ address: DeviceAddress? = nil) -> Int? {
        let bytes = text.span.extracting(range)
        if last < utf8.count, addresses[last] == address, Self.isEqual(utf8[last], bytes) { return last }
        for place in utf8.indices where addresses[place] == address && Self.isEqual(utf8[place], bytes) {
            last = place
            return place
        }
        // The bytes of a name that had to be made safe are not those that were read.
        let name = Self.safe(bytes)
        if let place = names.indices.first(where: { names[$0] == name && addresses[$0] == address }) { return place }
        guard names.count < Self.placesMax, address != nil || withoutAddress < Self.namesMax else { return nil }
        names.append(name)
        addresses.append(address)
        if address == nil { withoutAddress += 1 }
        utf8.append(Array(name.utf8))
        last = names.count - 1
        return last
    }

    private static func isEqual(_ left: [UInt8], _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        for index in 0..<left.count where left[index] != right[index] { return false }
        return true
    }

    /// At most ``nameBytesMax`` bytes of a name, without control characters; never empty.
    static func safe(_ bytes: Span<UInt8>) -> String {
        var kept: [UInt8] = []
        for index in 0..<min(bytes.count, nameBytesMax + 4) { kept.append(bytes[index]) }
        var name = ""
        for scalar in String(decoding: kept, as: UTF8.self).unicodeScalars {
            let isControl =
                scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
                || scalar.properties.generalCategory == .lineSeparator
                || scalar.properties.generalCategory == .paragraphSeparator
            let shown: Unicode.Scalar = isControl ? "_" : scalar
            guard name.utf8.count + UTF8.width(shown) <= nameBytesMax else { break }
            name.unicodeScalars.append(shown)
        }
        return name.isEmpty ? "_" : name
    }

    /// The place of the adapter with `index` in a monitor's stream; it is named `hci<index>` until ``name(_:_:)``.
    @inline(__always) mutating func place(ofIndex index: UInt16) -> Int? {
        if index == lastIndex, index != Self.noIndex { return lastIndexPlace }
        return lookUp(index)
    }

    @inline(never) private mutating func lookUp(_ index: UInt16) -> Int? {
        let place = findOrAdd(index)
        if let place { (lastIndex, lastIndexPlace) = (index, place) }
        return place
    }

    private mutating func findOrAdd(_ index: UInt16) -> Int? {
        if index < 256 {
            let place = lowIndexes[Int(index)]
            if place != -1 { return place >= 0 ? Int(place) : nil }
        } else if let place = highIndexes[index] {
            return place >= 0 ? Int(place) : nil
        }
        if index == Self.noIndex { return nil }
        let place = place(named: "hci\(index)")
        note(index, place)
        return place
    }

    /// The adapter with `index` bears `name` from now on, and has that address.
    mutating func name(_ index: UInt16, _ text: [UInt8], _ range: Range<Int>, _ address: DeviceAddress?) {
        guard index != Self.noIndex else { return }
        note(index, place(of: text, range, address))
    }

    /// The controller with `index` is the one at `place` from now on.
    mutating func move(_ index: UInt16, to place: Int?) {
        guard index != Self.noIndex else { return }
        note(index, place)
    }

    /// The address of the controller at `place` is still to come.
    mutating func expectAddress(of place: Int) { awaitingAddress.insert(place) }

    /// What is known of the controller at `place` is all that there is.
    ///
    /// - Returns: Whether its address was still to come.
    @discardableResult mutating func expectNoAddress(of place: Int) -> Bool { awaitingAddress.remove(place) != nil }

    private mutating func note(_ index: UInt16, _ place: Int?) {
        let place = Int16(place ?? -2)
        lastIndex = Self.noIndex
        if index < 256 {
            lowIndexes[Int(index)] = place
        } else if place >= 0 || highIndexes[index] != nil {
            // At most 255 of them: one that fits no more is looked for again.
            highIndexes[index] = place
        }
    }
}
