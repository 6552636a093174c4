import BluetoothLE
import EventLog

/// Writes one JSON object, key by key, in the order in which they are given.
package struct JSONWriter: ~Copyable {
    private var buffer = LineBuffer(capacity: 4096)
    private var needsComma = false

    package init() { buffer.append(octet: UInt8(ascii: "{")) }

    /// The object, on one line.
    package consuming func finish() -> String {
        buffer.append("}\n")
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    private mutating func key(_ name: StaticString) {
        comma()
        buffer.append(octet: UInt8(ascii: "\""))
        buffer.append(name)
        buffer.append("\":")
    }

    private mutating func comma() {
        if needsComma { buffer.append(octet: UInt8(ascii: ",")) }
        needsComma = true
    }

    package mutating func write(_ name: StaticString, _ text: String) {
        key(name)
        append(text)
    }

    package mutating func write(_ name: StaticString, _ number: Int) {
        key(name)
        buffer.append(number)
    }

    /// The same under a name that is no literal.
    package mutating func write(named name: String, _ number: Int) {
        comma()
        append(name)
        buffer.append(octet: UInt8(ascii: ":"))
        buffer.append(number)
    }

    package mutating func write(_ name: StaticString, _ isSo: Bool) {
        key(name)
        buffer.append(isSo ? "true" : "false")
    }

    /// Seconds as a decimal number, exact to the microsecond.
    package mutating func write(_ name: StaticString, seconds duration: Duration) {
        key(name)
        buffer.append(seconds: duration.nanoseconds / 1000)
    }

    /// A decimal number of so many millionths, without trailing zeros.
    package mutating func write(_ name: StaticString, millionths: Int64) {
        key(name)
        buffer.append(seconds: millionths)
    }

    /// Nothing where there is none: absent is absent.
    package mutating func write(_ name: StaticString, _ text: String?) {
        if let text { write(name, text) }
    }

    package mutating func write(_ name: StaticString, _ texts: [String]) {
        key(name)
        buffer.append(octet: UInt8(ascii: "["))
        needsComma = false
        for text in texts {
            comma()
            append(text)
        }
        buffer.append(octet: UInt8(ascii: "]"))
        needsComma = true
    }

    package mutating func object(_ name: StaticString, _ body: (inout JSONWriter) -> Void) {
        key(name)
        enclosed("{", "}", body)
    }

    /// An array of objects, one for each of `elements`.
    package mutating func objects<Element>(
        _ name: StaticString, _ elements: some Sequence<Element>, _ body: (inout JSONWriter, Element) -> Void
    ) {
        key(name)
        enclosed("[", "]") { writer in
            for element in elements {
                writer.comma()
                writer.enclosed("{", "}") { body(&$0, element) }
            }
        }
    }

    private mutating func enclosed(_ begin: StaticString, _ end: StaticString, _ body: (inout JSONWriter) -> Void) {
        buffer.append(begin)
        needsComma = false
        body(&self)
        buffer.append(end)
        needsComma = true
    }

    private mutating func append(_ text: String) {
        buffer.append(octet: UInt8(ascii: "\""))
        buffer.append(plain: text)
        buffer.append(octet: UInt8(ascii: "\""))
    }
}
