import BluetoothLE

/// The adapters of a capture with their indices. The same name with another address, or without one, is another
/// adapter.
///
/// Bounds: ``namesMax`` adapters without an address, and ``placesMax`` adapters in all. Records of further ones have no
/// adapter.
struct AdapterTable {
    static let namesMax = 255
    static let placesMax = 510
    /// The maximum length of a name in UTF-8 bytes. Longer names are truncated.
    static let nameBytesMax = 128
    /// The index of records without an adapter (the kernel's HCI_DEV_NONE).
    static let noIndex: UInt16 = 0xFFFF

    private(set) var names: [String] = []
    /// The addresses of the controllers, if the capture reports them (rule L7).
    private(set) var addresses: [DeviceAddress?] = []
    private var withoutAddress = 0
    /// The indices of controllers whose address will follow: the kernel does not know it when it creates an index.
    private(set) var awaitingAddress: Set<Int> = []
    /// The index of `hci0`, after it was requested.
    var defaultPlace: Int?
    // The UTF-8 bytes of the names, for comparisons with bytes.
    private var utf8: [[UInt8]] = []
    private var last = 0
    // The index that was requested last. Most records are of the same adapter as those before them.
    private var lastIndex = noIndex
    private var lastIndexPlace = 0
    // The adapters of a monitor's indices: an array for low indices, and a dictionary for the rare others. -1 is
    // unknown, -2 is an adapter too many.
    private var lowIndexes = [Int16](repeating: -1, count: 256)
    private var highIndexes: [UInt16: Int16] = [:]

    /// Returns the index of the adapter with `name`; `nil` if there are too many.
    mutating func place(named name: String, address: DeviceAddress? = nil) -> Int? {
        place(of: Array(name.utf8), 0..<name.utf8.count, address)
    }

    /// Returns the index of the adapter with that address and the name whose UTF-8 bytes are `range` of `text`. The
    /// name is made safe for terminals and logs.
    mutating func place(of text: [UInt8], _ range: Range<Int>, _ address: DeviceAddress? = nil) -> Int? {
        let bytes = text.span.extracting(range)
        if last < utf8.count, addresses[last] == address, Self.isEqual(utf8[last], bytes) { return last }
        for place in utf8.indices where addresses[place] == address && Self.isEqual(utf8[place], bytes) {
            last = place
            return place
        }
        // If a name was made safe, its bytes differ from those that were read.
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

    /// Returns at most ``nameBytesMax`` bytes of a name, without control characters; never empty.
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

    /// Returns the place in ``names`` of the adapter that a monitor's stream calls `index`. Its name is `hci<index>`
    /// until the stream names it.
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

    /// Sets the name and the address of the adapter with `index` from now on.
    mutating func name(_ index: UInt16, _ text: [UInt8], _ range: Range<Int>, _ address: DeviceAddress?) {
        guard index != Self.noIndex else { return }
        note(index, place(of: text, range, address))
    }

    /// Assigns the controller with `index` to the adapter at `place` from now on.
    mutating func move(_ index: UInt16, to place: Int?) {
        guard index != Self.noIndex else { return }
        note(index, place)
    }

    /// Forgets the names and addresses of indices, because another file follows whose indices can be other controllers.
    mutating func startFile() {
        lowIndexes = [Int16](repeating: -1, count: 256)
        highIndexes = [:]
        lastIndex = Self.noIndex
        awaitingAddress = []
    }

    /// Records that the address of the controller at `place` will follow.
    mutating func expectAddress(of place: Int) { awaitingAddress.insert(place) }

    /// Records that no address will follow for the controller at `place`.
    ///
    /// - Returns: whether it was expected.
    @discardableResult mutating func expectNoAddress(of place: Int) -> Bool { awaitingAddress.remove(place) != nil }

    private mutating func note(_ index: UInt16, _ place: Int?) {
        let place = Int16(place ?? -2)
        lastIndex = Self.noIndex
        if index < 256 {
            lowIndexes[Int(index)] = place
        } else if place >= 0 || highIndexes[index] != nil {
            // At most 255 entries: an adapter that is one too many is looked up again.
            highIndexes[index] = place
        }
    }
}
