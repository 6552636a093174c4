package import BeaconMonitoring
package import BluetoothLE

extension Int: ByteCoded {
    package static var blank: Int { 0 }
    package mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) { try coder.code(&self) }
}

extension String: ByteCoded {
    package static var blank: String { "" }
    package mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) { try coder.code(&self) }
}

extension WallDate: ByteCoded {
    package static var blank: WallDate { WallDate(microseconds: 0) }
    package mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        var number = microseconds
        try coder.code(&number)
        self = WallDate(microseconds: number)
    }
}

extension ClockOffset: ByteCoded {
    package static var blank: ClockOffset { .zero }
    package mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        var number = nanoseconds
        try coder.code(&number)
        self = ClockOffset(nanoseconds: number)
    }
}

extension Duration: ByteCoded {
    package static var blank: Duration { .zero }
    package mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        var (seconds, attoseconds) = components
        try coder.code(&seconds)
        try coder.code(&attoseconds)
        self = Duration(secondsComponent: seconds, attosecondsComponent: attoseconds)
    }
}

extension Identifier: ByteCoded {
    package static var blank: Identifier { Identifier(lookup: "") }
    package mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        // A name in a line is looked up exactly as written, even if it is not valid.
        var text = text
        try coder.code(&text)
        self = Identifier(lookup: text)
    }
}

extension BeaconIdentity: ByteCoded {
    package static var blank: BeaconIdentity {
        BeaconIdentity(uuid: ProximityUUID(high: 0, low: 0), major: 0, minor: 0)
    }
    package mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        var (high, low, numbers) = (uuid.high, uuid.low, UInt64(major) << 16 | UInt64(minor))
        try coder.code(&high)
        try coder.code(&low)
        try coder.code(&numbers)
        guard let numbers = UInt32(exactly: numbers) else { throw ByteCoder.Damage() }
        self = BeaconIdentity(
            uuid: ProximityUUID(high: high, low: low), major: UInt16(numbers >> 16),
            minor: UInt16(truncatingIfNeeded: numbers))
    }
}

extension LinePosition: ByteCoded {
    package static var blank: LinePosition { LinePosition(sequence: 0) }
    package mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        try coder.code(&sequence)
        try coder.code(&segment)
        try coder.code(&offset)
        guard (0...Self.sequenceMax).contains(sequence), offset >= 0 else { throw ByteCoder.Damage() }
    }
}
