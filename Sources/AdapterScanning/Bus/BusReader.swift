import CDBus

/// A place in a message's body, from which typed values are read.
///
/// libdbus has checked the message's form before it is handed over; what it can't check is that the sender put the types
/// there that we expect. So each reading asks for the type first, gives `nil` where another one stands, and never traps.
/// It holds only while its message does, which is until the handler that was given the message returns.
@safe struct BusReader {
    private var iterator: DBusMessageIter

    // Names, paths and addresses are shorter; whatever is longer is not for us.
    private static let textMax = 1024

    /// The arguments of a message.
    init(_ message: OpaquePointer) {
        var iterator = unsafe DBusMessageIter()
        // It tells whether there are arguments; without any, the type at the place is "invalid".
        _ = unsafe dbus_message_iter_init(message, &iterator)
        unsafe self.iterator = iterator
    }

    private init(_ iterator: DBusMessageIter) { unsafe self.iterator = iterator }

    /// The type of the value that stands here; 0 past the end.
    var type: Int32 {
        mutating get { unsafe dbus_message_iter_get_arg_type(&iterator) }
    }

    /// Steps to the next value.
    mutating func skip() { _ = unsafe dbus_message_iter_next(&iterator) }

    /// The text that stands here: a string or an object path of at most 1024 octets.
    mutating func text() -> String? {
        guard type == BusType.string || type == BusType.path else { return nil }
        var pointer: UnsafePointer<CChar>?
        unsafe dbus_message_iter_get_basic(&iterator, &pointer)
        guard let pointer = unsafe pointer else { return nil }
        for length in 0...Self.textMax where unsafe pointer[length] == 0 { return unsafe String(cString: pointer) }
        return nil
    }

    /// The boolean that stands here.
    mutating func boolean() -> Bool? {
        guard type == BusType.boolean else { return nil }
        var value: dbus_bool_t = 0
        unsafe dbus_message_iter_get_basic(&iterator, &value)
        return value != 0
    }

    /// The 16-bit number that stands here.
    mutating func int16() -> Int16? {
        guard type == BusType.int16 else { return nil }
        var value: Int16 = 0
        unsafe dbus_message_iter_get_basic(&iterator, &value)
        return value
    }

    /// The unsigned 16-bit number that stands here.
    mutating func uint16() -> UInt16? {
        guard type == BusType.uint16 else { return nil }
        var value: UInt16 = 0
        unsafe dbus_message_iter_get_basic(&iterator, &value)
        return value
    }

    /// Appends the octets of the array that stands here; `false`, and nothing appended, where it is none or has more
    /// than `max`.
    mutating func appendBytes(to bytes: inout [UInt8], max: Int) -> Bool {
        guard type == BusType.array, unsafe dbus_message_iter_get_element_type(&iterator) == BusType.byte else {
            return false
        }
        var inner = unsafe DBusMessageIter()
        unsafe dbus_message_iter_recurse(&iterator, &inner)
        var pointer: UnsafePointer<UInt8>?
        var count: Int32 = 0
        unsafe dbus_message_iter_get_fixed_array(&inner, &pointer, &count)
        guard count >= 0, Int(count) <= max else { return false }
        guard count > 0, let pointer = unsafe pointer else { return true }
        unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: pointer, count: Int(count)))
        return true
    }

    /// What is inside the array, structure, dictionary entry or variant that stands here.
    mutating func inside() -> BusReader? {
        switch type {
        case BusType.array, BusType.structure, BusType.entry, BusType.variant:
            var inner = unsafe DBusMessageIter()
            unsafe dbus_message_iter_recurse(&iterator, &inner)
            return unsafe BusReader(inner)
        default: return nil
        }
    }

    /// The value in the variant that stands here.
    mutating func unwrapped() -> BusReader? { type == BusType.variant ? inside() : nil }

    /// Calls `body` with each value of the array that stands here; nothing where another type does.
    mutating func forEach(_ body: (inout BusReader) -> Void) {
        guard type == BusType.array, var elements = inside() else { return }
        while elements.type != BusType.invalid {
            // A copy, so that a body that steps can't lose the place.
            var element = elements
            body(&element)
            elements.skip()
        }
    }

    /// Calls `body` with the key, where it is a text, and the value of each entry of the dictionary that stands here.
    mutating func forEachEntry(_ body: (String, inout BusReader) -> Void) {
        forEach { element in
            guard element.type == BusType.entry, var entry = element.inside(), let key = entry.text() else { return }
            entry.skip()
            body(key, &entry)
        }
    }
}
