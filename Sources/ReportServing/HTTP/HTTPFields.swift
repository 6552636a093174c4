import CMicrohttpd

/// The headers, or the members of the query, of a request.
struct HTTPFields {
    // The memory for a head bounds them too.
    private static let countMax = 100

    private final class Collected {
        var fields: [HTTPRequest.Member] = []
        var isFull = false
    }

    /// All, in their order, keys of headers in lower case.
    let all: [HTTPRequest.Member]
    /// Whether there are more than 100, which are not in ``all``.
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

    /// The values of all fields of this name.
    subscript(name: String) -> [String] { all.filter { $0.key == name }.map(\.value) }
}
