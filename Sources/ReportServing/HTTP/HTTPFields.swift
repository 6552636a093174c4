import CMicrohttpd

/// The headers of a request, or the members of its query.
struct HTTPFields {
    // The maximum number of fields. The memory for a head limits them too.
    private static let countMax = 100

    private final class Collected {
        var fields: [HTTPRequest.Member] = []
        var isFull = false
    }

    /// All fields in their order, with names of headers in lower case.
    let all: [HTTPRequest.Member]
    /// Whether there are more than 100 fields. The others are not in ``all``.
    let isTooMany: Bool

    init(_ connection: OpaquePointer, _ kind: MHD_ValueKind) {
        let collected = Collected()
        withExtendedLifetime(collected) {
            _ = unsafe MHD_get_connection_values(
                connection, kind,
                { context, _, key, value in
                    guard let context = unsafe context, let key = unsafe key else { return .YES }
                    let collected = unsafe Unmanaged<Collected>.fromOpaque(context).takeUnretainedValue()
                    guard collected.fields.count < HTTPFields.countMax else {
                        collected.isFull = true
                        return .NO
                    }
                    collected.fields.append(
                        HTTPRequest.Member(
                            key: unsafe String(cString: key),
                            value: unsafe value.map { unsafe String(cString: $0) } ?? ""))
                    return .YES
                }, Unmanaged.passUnretained(collected).toOpaque())
        }
        isTooMany = collected.isFull
        all =
            kind == .GET_ARGUMENT_KIND
            ? collected.fields
            : collected.fields.map { HTTPRequest.Member(key: $0.key.lowercased(), value: $0.value) }
    }

    /// Returns the values of all fields with this name.
    subscript(name: String) -> [String] { all.filter { $0.key == name }.map(\.value) }
}
