/// One AD structure: a type and the octets that follow it.
///
/// Source: Bluetooth Core Vol 3 Part C §11.
public struct ADStructure: Sendable, Hashable {
    /// The AD type (Bluetooth Assigned Numbers §2.3).
    public let type: UInt8
    /// Where its data stand in the payload that it was read from.
    public let data: Range<Int>

    @inlinable init(type: UInt8, data: Range<Int>) {
        self.type = type
        self.data = data
    }

    /// Manufacturer Specific Data: a company identifier, little endian, and what that company makes of the rest.
    @inlinable public static var manufacturerSpecificData: UInt8 { 0xFF }
}

/// An AD structure that its payload does not hold whole (rule B3).
public enum ADStructureError: Error, Hashable {
    /// The structure at `offset` says that `declaredLength` octets follow its length octet; only `available` do.
    case truncated(offset: Int, declaredLength: Int, available: Int)
}

extension ADStructureError {
    /// What it is counted as.
    public var malformation: Malformation { .adStructureTruncated }
}

extension ADStructureError: CustomStringConvertible {
    /// What is wrong, and where.
    public var description: String {
        switch self {
        case .truncated(let offset, let declaredLength, let available):
            "the AD structure at byte \(offset) declares \(declaredLength) bytes, but has \(available)"
        }
    }
}

/// The AD structures of one payload, in order, without a copy.
///
/// A cursor: it keeps only how far it has read, and is handed the payload at each step.
public struct ADStructures: Sendable {
    @usableFromInline var offset = 0

    /// A cursor at a payload's first octet.
    @inlinable public init() {}

    /// The next structure of `payload`; `nil` at the end of its significant part.
    ///
    /// A zero length ends the significant part early (Bluetooth Core Vol 3 Part C §11).
    /// - Throws: ``ADStructureError`` where the structure runs past the payload's end; nothing follows then.
    @inlinable public mutating func next(in payload: Span<UInt8>) throws(ADStructureError) -> ADStructure? {
        guard offset < payload.count else { return nil }
        let length = Int(payload[offset])
        guard length > 0 else {
            offset = payload.count
            return nil
        }
        let start = offset
        guard length < payload.count - start else {
            throw truncated(payload)
        }
        offset = start + 1 + length
        return ADStructure(type: payload[start + 1], data: start + 2..<offset)
    }

    /// The next iBeacon among the structures of `payload`, wherever it stands (rule B2); `nil` at the end.
    ///
    /// - Throws: ``ADStructureError`` where a structure runs past the payload's end; nothing follows then.
    @inlinable @inline(__always)
    public mutating func nextBeacon(in payload: Span<UInt8>) throws(ADStructureError) -> IBeacon? {
        // What `next(in:)` does, without a value per structure: half of a gateway's work is here.
        let count = payload.count
        let raw = unsafe payload.bytes
        while offset < count {
            let start = offset
            let length = Int(unsafe raw.unsafeLoad(fromUncheckedByteOffset: start, as: UInt8.self))
            guard length > 0 else {
                offset = count
                return nil
            }
            guard length < count &- start else { throw truncated(payload) }
            offset = start &+ 1 &+ length
            // The type and an iBeacon's data: only now do 26 octets stand behind the length.
            guard length > IBeacon.manufacturerDataLength else { continue }
            let head = unsafe UInt64(
                bigEndian: raw.unsafeLoadUnaligned(fromUncheckedByteOffset: start &+ 1, as: UInt64.self))
            guard head >> 24 == UInt64(ADStructure.manufacturerSpecificData) << 32 | UInt64(IBeacon.prefix) else {
                continue
            }
            return unsafe IBeacon(uncheckedFrame: raw, at: start &+ 2)
        }
        return nil
    }

    @inline(never) @usableFromInline mutating func truncated(_ payload: Span<UInt8>) -> ADStructureError {
        let start = offset
        offset = payload.count
        return .truncated(
            offset: start, declaredLength: Int(payload[start]), available: payload.count - start - 1)
    }
}
