import CZlib

/// Decompresses gzip, also with several members (RFC 1952 §2.2).
@safe final class GzipInflater: Inflater {
    private let stream: UnsafeMutablePointer<z_stream>
    private var isBetweenMembers = false

    init(path: String) throws(CaptureError) {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        // A window of 2^15 bytes, the largest of the format. Adding 16 accepts only gzip.
        let result = unsafe inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard result == Z_OK else { throw .inflationFailed(path: path, "zlib returned \(result)") }
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    func inflate(
        _ input: UnsafeRawBufferPointer, isAtEnd: Bool, into output: UnsafeMutableRawBufferPointer
    ) -> InflaterStep {
        if isBetweenMembers {
            if isAtEnd { return InflaterStep() }
            // Tapes and some tools add zeros at the end; gzip skips them too.
            let padding = unsafe input.prefix { $0 == 0 }.count
            if padding > 0 { return InflaterStep(consumed: padding) }
            guard unsafe input[0] == 0x1F, unsafe inflateReset(stream) == Z_OK else {
                return InflaterStep(problem: "data that is not gzip follows the compressed data")
            }
            isBetweenMembers = false
        }
        unsafe stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        unsafe stream.pointee.avail_in = UInt32(clamping: input.count)
        unsafe stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let room = UInt32(clamping: output.count)
        unsafe stream.pointee.avail_out = room
        let result = unsafe CZlib.inflate(stream, Z_NO_FLUSH)
        var step = unsafe InflaterStep(
            consumed: input.count - Int(stream.pointee.avail_in), produced: Int(room - stream.pointee.avail_out))
        switch result {
        case Z_STREAM_END: isBetweenMembers = true
        case Z_OK: break
        case Z_BUF_ERROR where isAtEnd && step.produced == 0: step.problem = "the gzip data are truncated"
        case Z_BUF_ERROR where step.consumed + step.produced > 0: break
        default: step.problem = "the gzip data are corrupt"
        }
        return step
    }
}
