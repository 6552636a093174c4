import Glibc
import SystemPackage

// How much a broker may say.
extension MosquittoClient {
    // A handshake with long chains of certificates, and what comes with a connection.
    private static let octetsMax = 1 << 20
    // A PUBACK has four octets, and where a broker is talkative a reason in words.
    private static let octetsForEach = 256

    /// Whether more came through this connection than a broker has to say to who subscribes to nothing.
    ///
    /// The library makes room for a packet of 256 MiB where one is announced, and keeps messages of QoS 2 until they are
    /// released.
    var hasHeardTooMuch: Bool {
        guard let descriptor, let count = Self.received(descriptor) else { return false }
        return count > Self.octetsMax + Self.octetsForEach * published
    }

    /// How many octets came through a TCP connection (TCP_INFO, tcp(7): `tcpi_bytes_received`, Linux 4.1).
    private static func received(_ descriptor: FileDescriptor) -> Int? {
        // linux/tcp.h can't be had beside netinet/tcp.h, whose struct is shorter: the field's place is the kernel's promise.
        let place = 128
        return unsafe withUnsafeTemporaryAllocation(byteCount: place + 8, alignment: 8) { buffer in
            var size = socklen_t(buffer.count)
            let result = unsafe getsockopt(
                descriptor.rawValue, Int32(IPPROTO_TCP), TCP_INFO, buffer.baseAddress, &size)
            guard result == 0, size >= place + 8 else { return nil }
            return unsafe Int(truncatingIfNeeded: buffer.load(fromByteOffset: place, as: UInt64.self))
        }
    }
}
