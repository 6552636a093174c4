import CDBus

/// A position in the body of a message, from which typed values are read.
///
/// libdbus has validated the form of the message. It cannot check that the sender used the expected types. So each read
/// checks the type first, returns `nil` if it is another one, and never traps. The reader is valid only as long as its
/// message: until the handler that received the message returns.
@safe struct BusReader {
    private var iterator: DBusMessageIter

    // In bytes. Names, paths and addresses are shorter; longer text is not meant for this program.
    private static let textMax = 1024

    /// Reads the arguments of a message.
    init(_ message: OpaquePointer) {
        var iterator = unsafe DBusMessageIter()
        // It returns whether there are arguments. Without any, the type at the position is "invalid".
        _ = unsafe dbus_message_iter_init(message, &iterator)
        unsafe self.iterator = iterator
    }

    private init(_ iterator: DBusMessageIter) { unsafe self.iterator = iterator }

    /// The type of the value at the position; 0 past the end.
    var type: Int32 {
        mutating get { unsafe dbus_message_iter_get_arg_type(&iterator) }
    }

    /// Moves to the next value.
    mutating func skip() { _ = unsafe dbus_message_iter_next(&iterator) }

    /// Returns the string or object path at the position; `nil` if it is longer than 1024 bytes.
    mutating func text() -> String? {
        guard type == BusType.string || type == BusType.path else { return nil }
        var pointer: UnsafePointer<CChar>?
        unsafe dbus_message_iter_get_basic(&iterator, &pointer)
        guard let pointer = unsafe pointer else { return nil }
        for length in 0...Self.textMax where unsafe pointer[length] == 0 { return unsafe String(cString: pointer) }
        return nil
    }

    /// Returns the boolean at the position.
    mutating func boolean() -> Bool? {
        guard type == BusType.boolean else { return nil }
        var value: dbus_bool_t = 0
        unsafe dbus_message_iter_get_basic(&iterator, &value)
        return value != 0
    }

    /// Returns the signed 16-bit number at the position.
    mutating func int16() -> Int16? {
        guard type == BusType.int16 else { return nil }
        var value: Int16 = 0
        unsafe dbus_message_iter_get_basic(&iterator, &value)
        return value
    }

    /// Returns the unsigned 16-bit number at the position.
    mutating func uint16() -> UInt16? {
        guard type == BusType.uint16 else { return nil }
        var value: UInt16 = 0
        unsafe dbus_message_iter_get_basic(&iterator, &value)
        return value
    }

    /// Appends the bytes of the byte array at the position. Returns `false` and appends nothing if the value is not a
    /// byte array or has more than `max` bytes.
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

    /// Returns a reader for the content of the array, structure, dictionary entry or variant at the position.
    mutating func inside() -> BusReader? {
        switch type {
        case BusType.array, BusType.structure, BusType.entry, BusType.variant:
            var inner = unsafe DBusMessageIter()
            unsafe dbus_message_iter_recurse(&iterator, &inner)
            return unsafe BusReader(inner)
        default: return nil
        }
    }

    /// Returns a reader for the value in the variant at the position.
    mutating func unwrapped() -> BusReader? { type == BusType.variant ? inside() : nil }

    /// Calls `body` with each value of the array at the position; does nothing if the value has another type.
    mutating func forEach(_ body: (inout BusReader) -> Void) {
        guard type == BusType.array, var elements = inside() else { return }
        while elements.type != BusType.invalid {
            // A copy, so that a `body` that moves its reader does not change this position.
            var element = elements
            body(&element)
            elements.skip()
        }
    }

    /// Calls `body` with the key and the value of each entry of the dictionary at the position. Entries whose key is
    /// not text are skipped.
    mutating func forEachEntry(_ body: (String, inout BusReader) -> Void) {
        forEach { element in
            guard element.type == BusType.entry, var entry = element.inside(), let key = entry.text() else { return }
            entry.skip()
            body(key, &entry)
        }
    }
}
