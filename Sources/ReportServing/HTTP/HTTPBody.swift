import CMicrohttpd

/// The bytes of an answer. All connections that send an answer share one copy of them.
@safe package final class HTTPBody: Sendable {
    /// The number of bytes.
    package let count: Int
    /// The entity tag (RFC 9110 §8.8.3): a hash of the bytes (FNV-1a, 64 bits). It detects changes, but not attacks.
    let tag: String
    // The address of the bytes, which do not change until `deinit`. A pointer is not Sendable.
    private let address: UInt

    /// Copies the bytes of an answer.
    package init(_ bytes: [UInt8]) {
        count = bytes.count
        let copy = UnsafeMutableRawPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        unsafe UnsafeMutableRawBufferPointer(start: copy, count: bytes.count).copyBytes(from: bytes)
        address = UInt(bitPattern: copy)
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        tag = "\"\(String(hash, radix: 16))\""
    }

    deinit { unsafe UnsafeMutableRawPointer(bitPattern: address)?.deallocate() }

    /// Returns a copy of the bytes.
    var bytes: [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: address), count: count))
    }

    /// Makes a response of the library that sends these bytes without a copy; `nil` if there is not enough memory.
    ///
    /// The response retains the body until the library frees it.
    func makeResponse() -> OpaquePointer? {
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        let made = unsafe MHD_create_response_from_buffer_with_free_callback_cls(
            count, UnsafeMutableRawPointer(bitPattern: address),
            { context in
                if let context = unsafe context { unsafe Unmanaged<HTTPBody>.fromOpaque(context).release() }
            }, context)
        if unsafe made == nil { unsafe Unmanaged<HTTPBody>.fromOpaque(context).release() }
        return unsafe made
    }

    /// Makes a response of the library without a body; `nil` if there is not enough memory.
    static func makeEmptyResponse() -> OpaquePointer? {
        unsafe MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT)
    }
}

/// The bodies that connections are sending. It limits their bytes, in total and for each address, whatever the number
/// of connections.
///
/// A body counts once in total, however many connections send it, and once for each address. Bodies of at most
/// ``smallMax`` bytes do not count, so that errors can be sent when the limit is reached. The number of connections
/// limits them.
struct BodiesInUse {
    /// The maximum size of a body that is always sent, in bytes.
    static let smallMax = 16_384

    private struct User: Hashable {
        var body: ObjectIdentifier
        var address: InternetAddress?
    }

    /// The bytes of all bodies that count.
    private(set) var bytes = 0
    private let bytesMax: Int
    private let bytesPerAddressMax: Int
    // The maximum size of a body that must share the limits with others. A larger one would exceed a limit even by
    // itself.
    private let sharedMax: Int
    private var users: [ObjectIdentifier: Int] = [:]
    private var usersAtAddress: [User: Int] = [:]
    private var bytesOfAddress: [InternetAddress?: Int] = [:]
    // The bytes of a body above `sharedMax`; 0 if none is being sent. Only one such body is sent at a time, and it does
    // not count toward the limits of the others.
    private var oversizedBytes = 0

    init(_ settings: HTTPServerSettings) {
        (bytesMax, bytesPerAddressMax) = (settings.bodyBytesMax, settings.bodyBytesPerAddressMax)
        sharedMax = min(bytesMax, bytesPerAddressMax)
    }

    /// Adds a connection from `address` that sends `body`.
    ///
    /// - Returns: `false` if this would exceed a limit.
    mutating func add(_ body: HTTPBody, to address: InternetAddress?) -> Bool {
        guard body.count > Self.smallMax else { return true }
        let user = User(body: ObjectIdentifier(body), address: address)
        let isOversized = body.count > sharedMax
        if !isOversized, usersAtAddress[user] == nil {
            guard bytesOfAddress[address, default: 0] + body.count <= bytesPerAddressMax else { return false }
        }
        if users[user.body] == nil {
            if isOversized {
                guard oversizedBytes == 0 else { return false }
                oversizedBytes = body.count
            } else {
                guard bytes - oversizedBytes + body.count <= bytesMax else { return false }
            }
            bytes += body.count
        }
        users[user.body, default: 0] += 1
        if !isOversized, usersAtAddress[user] == nil { bytesOfAddress[address, default: 0] += body.count }
        usersAtAddress[user, default: 0] += 1
        return true
    }

    /// Removes a connection from `address` that sent `body` and was added before.
    mutating func remove(_ body: HTTPBody, to address: InternetAddress?) {
        let user = User(body: ObjectIdentifier(body), address: address)
        guard let count = users[user.body], let countAtAddress = usersAtAddress[user] else { return }
        let isOversized = body.count > sharedMax
        usersAtAddress[user] = countAtAddress == 1 ? nil : countAtAddress - 1
        if countAtAddress == 1, !isOversized, let held = bytesOfAddress[address] {
            bytesOfAddress[address] = held == body.count ? nil : held - body.count
        }
        users[user.body] = count == 1 ? nil : count - 1
        guard count == 1 else { return }
        bytes -= body.count
        if isOversized { oversizedBytes = 0 }
    }
}
