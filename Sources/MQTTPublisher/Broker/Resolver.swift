import Glibc
import SystemPackage

/// Resolves host names to addresses.
enum Resolver {
    // The maximum number of addresses to try. A name with more belongs to a load balancer, which returns different ones
    // each time.
    private static let addressesMax = 8

    /// Returns the addresses of `host` as text, in the order in which they should be tried (getaddrinfo(3)).
    ///
    /// It blocks until the name server answers: for tens of seconds if none does.
    /// - Throws: ``BrokerError/unresolved(_:_:)``.
    static func addresses(of host: String) throws(BrokerError) -> [String] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        // Addresses of a family in which this machine has no address are useless, except its own loopback addresses.
        unsafe hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        var result = unsafe getaddrinfo(host, nil, &hints, &list)
        if result != 0, result != EAI_AGAIN {
            // A machine without a network still has its loopback interface.
            unsafe hints.ai_flags = 0
            result = unsafe getaddrinfo(host, nil, &hints, &list)
        }
        guard result == 0 else {
            let why = result == EAI_SYSTEM ? "\(Errno(rawValue: errno))" : unsafe String(cString: gai_strerror(result))
            throw .unresolved(host, why)
        }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [String] = []
        var entry = unsafe list
        while let current = unsafe entry, addresses.count < addressesMax {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let size = socklen_t(text.count)
            let named = unsafe getnameinfo(
                current.pointee.ai_addr, current.pointee.ai_addrlen, &text, size, nil, 0, NI_NUMERICHOST)
            if named == 0 {
                let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                if !addresses.contains(address) { addresses.append(address) }
            }
            unsafe entry = current.pointee.ai_next
        }
        guard !addresses.isEmpty else { throw .unresolved(host, "it has no address") }
        return addresses
    }

    /// Returns whether `text` is an IPv4 or IPv6 address (inet_pton(3)).
    static func isAddress(_ text: String) -> Bool {
        var address = in6_addr()
        return unsafe withUnsafeMutablePointer(to: &address) { place in
            unsafe inet_pton(AF_INET, text, place) == 1 || inet_pton(AF_INET6, text, place) == 1
        }
    }
}
