/// One AD structure of an advertising payload: a type and the place of its data.
///
/// Source: Bluetooth Core Vol 3 Part C §11.
public struct ADStructure: Sendable, Hashable {
    /// The AD type (Bluetooth Assigned Numbers §2.3).
    public let type: UInt8
    /// The range of its data in the payload that it was read from.
    public let data: Range<Int>

    @inlinable init(type: UInt8, data: Range<Int>) {
        self.type = type
        self.data = data
    }

    /// The type of Manufacturer Specific Data: a company identifier (little endian), then data that the company
    /// defines.
    @inlinable public static var manufacturerSpecificData: UInt8 { 0xFF }
}

/// An AD structure that runs past the end of its payload (rule B3).
public enum ADStructureError: Error, Hashable {
    /// The structure at `offset` declares `declaredLength` bytes after its length byte, but the payload has only
    /// `available`.
    case truncated(offset: Int, declaredLength: Int, available: Int)
}

extension ADStructureError {
    /// The kind of malformation to count.
    public var malformation: Malformation { .adStructureTruncated }
}

extension ADStructureError: CustomStringConvertible {
    /// A text with the error and its place.
    public var description: String {
        switch self {
        case .truncated(let offset, let declaredLength, let available):
            "the AD structure at byte \(offset) declares \(declaredLength) bytes, but has \(available)"
        }
    }
}

/// Reads the AD structures of a payload in order, without copying it.
///
/// A cursor: it stores only the current offset. Each call must get the same payload.
///
///     var structures = ADStructures()
///     while let structure = try structures.next(in: payload) {
///         if structure.type == ADStructure.manufacturerSpecificData { found.append(structure.data) }
///     }
public struct ADStructures: Sendable {
    @usableFromInline var offset = 0

    /// Creates a cursor at the first byte of a payload.
    @inlinable public init() {}

    /// Returns the next structure of `payload`; `nil` at the end of its significant part.
    ///
    /// A length of zero ends the significant part early (Bluetooth Core Vol 3 Part C §11).
    /// - Throws: ``ADStructureError`` if the structure runs past the end of the payload. The next call returns `nil`.
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

    /// Returns the next iBeacon in the structures of `payload`, whatever its position (rule B2); `nil` at the end.
    ///
    /// - Throws: ``ADStructureError`` if a structure runs past the end of the payload. The next call returns `nil`.
    @inlinable @inline(__always)
    public mutating func nextBeacon(in payload: Span<UInt8>) throws(ADStructureError) -> IBeacon? {
        // The same as `next(in:)`, but without creating a value for each structure: half of a gateway's CPU time is
        // spent here.
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
            // Only a structure with room for the type and an iBeacon has 26 bytes after its length, so the loads are
            // safe.
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
