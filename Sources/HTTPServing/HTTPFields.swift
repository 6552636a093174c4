import CMicrohttpd

/// The headers, or the members of the query, of a request.
struct HTTPFields {
    // The head's memory bounds them too; nothing of ours reads as many.
    private static let countMax = 100
    private static let queryMax = 32

    private final class Collected {
        var fields: [HTTPRequest.Member] = []
        let most: Int
        init(most: Int) { self.most = most }
    }

    /// All, in their order, keys of headers in lower case.
    let all: [HTTPRequest.Member]

    init(_ connection: OpaquePointer, _ kind: MHD_ValueKind) {
        let isQuery = kind == .GET_ARGUMENT_KIND
        let collected = Collected(most: isQuery ? Self.queryMax : Self.countMax)
        withExtendedLifetime(collected) {
            _ = unsafe MHD_get_connection_values(
                connection, kind,
                { context, _, key, value in
                    guard let context = unsafe context, let key = unsafe key else { return .YES }
                    let collected = unsafe Unmanaged<Collected>.fromOpaque(context).takeUnretainedValue()
                    guard collected.fields.count < collected.most else { return .NO }
                    collected.fields.append(
                        HTTPRequest.Member(
                            key: unsafe String(cString: key),
                            value: unsafe value.map { unsafe String(cString: $0) } ?? ""))
                    return .YES
                }, Unmanaged.passUnretained(collected).toOpaque())
        }
        all =
            isQuery
            ? collected.fields
            : collected.fields.map { HTTPRequest.Member(key: $0.key.lowercased(), value: $0.value) }
    }

    /// The values of all fields of this name.
    subscript(name: String) -> [String] { all.filter { $0.key == name }.map(\.value) }
}
