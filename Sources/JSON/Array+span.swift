import Glibc

extension [UInt8] {
    /// Appends the bytes of a span.
    package mutating func append(_ bytes: Span<UInt8>) {
        append(addingCapacity: bytes.count) { target in
            unsafe bytes.withUnsafeBytes { source in
                unsafe target.withUnsafeMutableBufferPointer { place, filled in
                    guard let from = source.baseAddress, let to = place.baseAddress else { return }
                    unsafe memcpy(to, from, source.count)
                    filled = source.count
                }
            }
        }
    }
}
