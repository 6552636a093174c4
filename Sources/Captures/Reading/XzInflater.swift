import CLzma

/// Decompresses xz, also with several streams and padding after them (the .xz file format 1.2.0 §2).
@safe final class XzInflater: Inflater {
    /// Enough for a dictionary of 128 MiB, the limit of zstd, and for the decoder, which needs less than 2 MiB.
    /// `xz -9` makes dictionaries of 64 MiB; the next size after 128 MiB is 192 MiB.
    private static let memoryLimit: UInt64 = 132 << 20

    private let stream: UnsafeMutablePointer<lzma_stream>
    // The number of zeros after a stream; `nil` inside a stream.
    private var padding: Int?
    // liblzma detects some errors after it has delivered wrong bytes, as many as there is room for. So that they do not
    // depend on windows and pipes, each call has one byte of input and the same room.
    private var decoded = [UInt8](repeating: 0, count: 4096)
    private var decodedStart = 0
    private var decodedEnd = 0
    private var problem: String?

    init(path: String) throws(CaptureError) {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: lzma_stream())
        guard start() else { throw .inflationFailed(path: path, "no memory") }
    }

    deinit {
        unsafe lzma_end(stream)
        unsafe stream.deallocate()
    }

    private func start() -> Bool {
        padding = nil
        return unsafe lzma_stream_decoder(stream, Self.memoryLimit, clzma_tell_unsupported_check) == LZMA_OK
    }

    func inflate(
        _ input: UnsafeRawBufferPointer, isAtEnd: Bool, into output: UnsafeMutableRawBufferPointer
    ) -> InflaterStep {
        var step = InflaterStep()
        while step.produced < output.count {
            if decodedStart < decodedEnd {
                let count = min(decodedEnd - decodedStart, output.count - step.produced)
                let target = unsafe UnsafeMutableRawBufferPointer(rebasing: output[step.produced...])
                unsafe target.copyBytes(from: decoded[decodedStart..<decodedStart + count])
                decodedStart += count
                step.produced += count
            } else if problem == nil, step.consumed < input.count || isAtEnd && padding == nil {
                step.consumed += unsafe decode(UnsafeRawBufferPointer(rebasing: input[step.consumed...].prefix(1)))
            } else {
                break
            }
        }
        // Streams and padding have a multiple of four bytes.
        if isAtEnd, let padding, padding % 4 != 0 { problem = "the xz data are corrupt: wrong padding" }
        if decodedStart == decodedEnd { step.problem = problem }
        return step
    }

    /// Decodes one byte, or none at the end, and returns the number of bytes that were consumed.
    private func decode(_ input: UnsafeRawBufferPointer) -> Int {
        if let padding, let byte = unsafe input.first {
            if byte == 0 {
                self.padding = padding + 1
                return 1
            }
            guard byte == 0xFD, padding % 4 == 0, start() else {
                problem = "data that is not xz follows the compressed data"
                return 0
            }
        }
        unsafe stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        unsafe stream.pointee.avail_in = input.count
        let result = unsafe decoded.withUnsafeMutableBufferPointer { bytes in
            unsafe stream.pointee.next_out = bytes.baseAddress
            unsafe stream.pointee.avail_out = bytes.count
            return unsafe lzma_code(stream, LZMA_RUN)
        }
        (decodedStart, decodedEnd) = unsafe (0, decoded.count - stream.pointee.avail_out)
        switch result {
        case LZMA_STREAM_END: padding = 0
        case LZMA_OK, LZMA_BUF_ERROR: if unsafe input.isEmpty, decodedEnd == 0 { problem = "the xz data are truncated" }
        case LZMA_FORMAT_ERROR: problem = "data that is not xz follows the compressed data"
        case LZMA_MEMLIMIT_ERROR:
            problem = "the xz data need a dictionary of more than 128 MiB; compress them again with xz -9"
        case LZMA_MEM_ERROR: problem = "there is not enough memory for the dictionary of the xz data"
        case LZMA_OPTIONS_ERROR: problem = "the xz data need a filter or an option that liblzma does not support"
        case LZMA_UNSUPPORTED_CHECK: problem = "the xz data have a checksum that liblzma does not support"
        default: problem = "the xz data are corrupt"
        }
        return unsafe input.count - stream.pointee.avail_in
    }
}
