import CDBus

/// A value in a message to send. It has only the types that this program sends.
///
/// Strings and paths must be created by this program: libdbus ends the process if a string is not UTF-8 or a path is
/// invalid. Text from outside must be validated first.
enum BusValue: Sendable, Hashable {
    case byte(UInt8)
    case boolean(Bool)
    case int16(Int16)
    case string(String)
    case path(String)
    /// The elements, and the signature of each.
    case array(of: String, [BusValue])
    /// The entries of a dictionary, and the signature of key and value together: `sv`.
    case dictionary(of: String, [BusEntry])
    case structure([BusValue])
    indirect case variant(BusValue)

    /// The type's D-Bus signature.
    var signature: String {
        switch self {
        case .byte: "y"
        case .boolean: "b"
        case .int16: "n"
        case .string: "s"
        case .path: "o"
        case .array(let element, _): "a" + element
        case .dictionary(let entry, _): "a{" + entry + "}"
        case .structure(let fields): "(" + fields.map(\.signature).joined() + ")"
        case .variant: "v"
        }
    }

    /// Creates an array of bytes.
    static func bytes(_ bytes: some Sequence<UInt8>) -> BusValue { .array(of: "y", bytes.map { .byte($0) }) }

    /// Creates a dictionary from names to values of any type.
    static func properties(_ properties: [(String, BusValue)]) -> BusValue {
        .dictionary(of: "sv", properties.map { BusEntry(key: .string($0.0), value: .variant($0.1)) })
    }
}

/// An entry of a dictionary.
struct BusEntry: Sendable, Hashable {
    var key: BusValue
    var value: BusValue
}

extension BusValue {
    /// Appends the value to a message. Returns `false` if there is no memory; the message must then be discarded.
    func append(to iterator: inout DBusMessageIter) -> Bool {
        switch self {
        case .byte(var value):
            return unsafe dbus_message_iter_append_basic(&iterator, BusType.byte, &value) != 0
        case .boolean(let value):
            var value: dbus_bool_t = value ? 1 : 0
            return unsafe dbus_message_iter_append_basic(&iterator, BusType.boolean, &value) != 0
        case .int16(var value):
            return unsafe dbus_message_iter_append_basic(&iterator, BusType.int16, &value) != 0
        case .string(let text): return unsafe Self.append(text, BusType.string, to: &iterator)
        case .path(let text): return unsafe Self.append(text, BusType.path, to: &iterator)
        case .array(let element, let values):
            return unsafe Self.contain(BusType.array, element, in: &iterator) { iterator in
                values.allSatisfy { unsafe $0.append(to: &iterator) }
            }
        case .dictionary(let entry, let entries):
            return unsafe Self.contain(BusType.array, "{" + entry + "}", in: &iterator) { iterator in
                entries.allSatisfy { entry in
                    unsafe Self.contain(BusType.entry, nil, in: &iterator) { iterator in
                        unsafe entry.key.append(to: &iterator) && entry.value.append(to: &iterator)
                    }
                }
            }
        case .structure(let fields):
            return unsafe Self.contain(BusType.structure, nil, in: &iterator) { iterator in
                fields.allSatisfy { unsafe $0.append(to: &iterator) }
            }
        case .variant(let value):
            return unsafe Self.contain(BusType.variant, value.signature, in: &iterator) { iterator in
                unsafe value.append(to: &iterator)
            }
        }
    }

    private static func append(_ text: String, _ type: Int32, to iterator: inout DBusMessageIter) -> Bool {
        unsafe text.withCString { pointer in
            var pointer: UnsafePointer<CChar>? = unsafe pointer
            return unsafe dbus_message_iter_append_basic(&iterator, type, &pointer) != 0
        }
    }

    private static func contain(
        _ type: Int32, _ signature: String?, in iterator: inout DBusMessageIter,
        _ body: (inout DBusMessageIter) -> Bool
    ) -> Bool {
        var inner = unsafe DBusMessageIter()
        guard unsafe dbus_message_iter_open_container(&iterator, type, signature, &inner) != 0 else { return false }
        guard unsafe body(&inner) else {
            unsafe dbus_message_iter_abandon_container(&iterator, &inner)
            return false
        }
        return unsafe dbus_message_iter_close_container(&iterator, &inner) != 0
    }
}

/// The type codes in the D-Bus specification, “Type System”. libdbus defines them as macros that Swift does not import.
enum BusType {
    static let invalid: Int32 = 0
    static let byte = code("y")
    static let boolean = code("b")
    static let int16 = code("n")
    static let uint16 = code("q")
    static let string = code("s")
    static let path = code("o")
    static let array = code("a")
    static let structure = code("r")
    static let entry = code("e")
    static let variant = code("v")

    private static func code(_ letter: Unicode.Scalar) -> Int32 { Int32(letter.value) }
}
