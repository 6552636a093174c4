import BaseTypes

/// The device address of an advertiser, with its type.
///
/// Source: Bluetooth Core Vol 6 Part B §1.3. The numbers of the types are those of the Address_Type field, Vol 4 Part E
/// §7.7.65.2 and §7.7.65.13.
public struct DeviceAddress: Sendable, Hashable {
    /// The type of an address, as in the Address_Type field.
    public enum Kind: UInt8, Sendable, CaseIterable {
        case `public` = 0x00
        case random = 0x01
        /// A resolvable address that the controller resolved to a public identity address.
        case publicIdentity = 0x02
        /// A resolvable address that the controller resolved to a random static identity address.
        case randomIdentity = 0x03
        /// A resolvable address that the controller could not resolve; only in extended reports.
        case unresolved = 0xFE
        /// The source did not report the type.
        case unspecified = 0x7F
    }

    // The 48 bits of the address with the type above them: one word to compare, hash and copy.
    @usableFromInline let packed: UInt64

    /// The 48-bit address. Its most significant byte is printed first.
    @inlinable public var value: UInt64 { packed & 0xFFFF_FFFF_FFFF }

    /// The address type.
    @inlinable public var kind: Kind { Kind(rawValue: UInt8(truncatingIfNeeded: packed >> 48)) ?? .unspecified }

    /// Creates an address from the low 48 bits of `value`.
    @inlinable public init(_ value: UInt64, kind: Kind) {
        packed = (value & 0xFFFF_FFFF_FFFF) | UInt64(kind.rawValue) << 48
    }

    /// Creates an address from a word of ``packed(_:)``; `nil` for the word of an absent address.
    @inlinable package init?(packed: UInt64) {
        guard packed >> 48 & 0xFF != 0xFF else { return nil }
        self.packed = packed
    }

    /// Returns the address as a word. An absent address has the type 0xFF ("anonymous").
    @inlinable package static func packed(_ address: DeviceAddress?) -> UInt64 { address?.packed ?? 0xFF << 48 }

    /// Returns the word for the address in the low 48 bits of `value` and an Address_Type byte.
    ///
    /// The type 0xFF (anonymous) gives the word of an absent address, and a reserved type becomes ``Kind/unspecified``.
    @inlinable @inline(__always) static func packed(_ value: UInt64, addressType: UInt8) -> UInt64 {
        let isKnown = addressType <= 0x03 || addressType >= 0xFE
        let low = addressType == 0xFF ? 0 : value & 0xFFFF_FFFF_FFFF
        return low | UInt64(isKnown ? addressType : Kind.unspecified.rawValue) << 48
    }
}

extension DeviceAddress: CustomStringConvertible {
    /// The address as six pairs of upper-case hexadecimal digits: `C0:98:E5:00:00:07`.
    public var description: String {
        var text = ""
        text.reserveCapacity(17)
        for shift in stride(from: 40, through: 0, by: -8) {
            let digits = String(value >> UInt64(shift) & 0xFF, radix: 16, uppercase: true)
            text += (text.isEmpty ? "" : ":") + (digits.utf8.count == 1 ? "0" : "") + digits
        }
        return text
    }

    /// Creates an address from a text: six pairs of hexadecimal digits, separated by colons or hyphens, or twelve
    /// digits. Returns `nil` for any other text.
    public init?(_ text: some StringProtocol, kind: Kind) {
        let count = text.utf8.count
        guard count == 17 || count == 12 else { return nil }
        var value: UInt64 = 0
        for (index, byte) in text.utf8.enumerated() {
            if count == 17, index % 3 == 2 {
                guard byte == UInt8(ascii: ":") || byte == UInt8(ascii: "-") else { return nil }
            } else {
                guard let digit = hexadecimalDigit(byte) else { return nil }
                value = value << 4 | UInt64(digit)
            }
        }
        self.init(value, kind: kind)
    }
}
