import CBzip2

/// Decompresses bzip2, also with several streams.
@safe final class Bzip2Inflater: Inflater {
    private let stream: UnsafeMutablePointer<bz_stream>
    private var isBetweenStreams = false

    init(path: String) throws(CaptureError) {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: bz_stream())
        guard start() else { throw .inflationFailed(path: path, "no memory") }
    }

    deinit {
        unsafe BZ2_bzDecompressEnd(stream)
        unsafe stream.deallocate()
    }

    private func start() -> Bool {
        isBetweenStreams = false
        // The algorithm with less memory, the last argument, takes twice the time. At a run of bytes without a length, the
        // other one fails without the number of bytes in the output.
        return unsafe BZ2_bzDecompressInit(stream, 0, 1) == BZ_OK
    }

    func inflate(
        _ input: UnsafeRawBufferPointer, isAtEnd: Bool, into output: UnsafeMutableRawBufferPointer
    ) -> InflaterStep {
        if isBetweenStreams {
            if isAtEnd { return InflaterStep() }
            // bzip2 warns of zeros at the end too.
            guard unsafe input[0] == UInt8(ascii: "B"), unsafe BZ2_bzDecompressEnd(stream) == BZ_OK, start() else {
                return InflaterStep(problem: "data that is not bzip2 follows the compressed data")
            }
        }
        unsafe stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.baseAddress?.assumingMemoryBound(to: CChar.self))
        unsafe stream.pointee.avail_in = UInt32(clamping: input.count)
        unsafe stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: CChar.self)
        let room = UInt32(clamping: output.count)
        unsafe stream.pointee.avail_out = room
        let result = unsafe BZ2_bzDecompress(stream)
        var step = unsafe InflaterStep(
            consumed: input.count - Int(stream.pointee.avail_in), produced: Int(room - stream.pointee.avail_out))
        switch result {
        case BZ_STREAM_END: isBetweenStreams = true
        case BZ_OK: if isAtEnd, step.produced == 0 { step.problem = "the bzip2 data are truncated" }
        case BZ_DATA_ERROR_MAGIC: step.problem = "data that is not bzip2 follows the compressed data"
        case BZ_MEM_ERROR: step.problem = "there is not enough memory for a block of the bzip2 data"
        default: step.problem = "the bzip2 data are corrupt"
        }
        return step
    }
}
