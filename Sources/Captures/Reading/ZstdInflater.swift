import CZstd

/// Decompresses Zstandard, also with several frames (RFC 8878 §3).
@safe final class ZstdInflater: Inflater {
    /// Frames can have windows of 2^27 bytes (128 MiB), which is also the limit of `zstd -d`.
    private static let windowLogMax: Int32 = 27
    /// RFC 8878 §3.1.1.2.
    private static let blockHeaderSize = 3

    private let context: OpaquePointer
    private var isBetweenFrames = true
    // Whether a block may not have been delivered completely, because there was no room.
    private var mayHoldMore = false
    // The number of bytes that zstd requested: the rest of a block, and the header of the next one if there is one.
    private var wanted = 0

    init(path: String) throws(CaptureError) {
        guard let context = unsafe ZSTD_createDCtx() else { throw .inflationFailed(path: path, "no memory") }
        unsafe self.context = unsafe context
        let result = unsafe ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.windowLogMax)
        guard ZSTD_isError(result) == 0 else { throw .inflationFailed(path: path, Self.words(result)) }
    }

    deinit { unsafe ZSTD_freeDCtx(context) }

    private static func words(_ result: Int) -> String { unsafe String(cString: ZSTD_getErrorName(result)) }

    func inflate(
        _ input: UnsafeRawBufferPointer, isAtEnd: Bool, into output: UnsafeMutableRawBufferPointer
    ) -> InflaterStep {
        // If a call of zstd fails, its output is lost. To never lose valid data, a call either delivers earlier output
        // or decompresses one block, never both, and never more than a block.
        if mayHoldMore {
            let step = unsafe decompress(UnsafeRawBufferPointer(rebasing: input[..<0]), into: output)
            if step.produced > 0 || step.problem != nil { return step }
        }
        if isAtEnd {
            return InflaterStep(problem: isBetweenFrames ? nil : "the zstd data are truncated")
        }
        let count = wanted > Self.blockHeaderSize ? wanted - Self.blockHeaderSize : max(wanted, 1)
        return unsafe decompress(UnsafeRawBufferPointer(rebasing: input[..<min(count, input.count)]), into: output)
    }

    /// One step of zstd with all of `input`, or as much as there is room for.
    private func decompress(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) -> InflaterStep {
        var source = unsafe ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var target = unsafe ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
        let result = unsafe ZSTD_decompressStream(context, &target, &source)
        var step = unsafe InflaterStep(consumed: source.pos, produced: target.pos)
        if ZSTD_isError(result) != 0 {
            let words = Self.words(result)
            step.problem =
                words.contains("memory")
                ? "the zstd data need a window of more than 128 MiB; compress them again without --long or --ultra"
                : "the zstd data are corrupt: \(words)"
        } else {
            isBetweenFrames = result == 0
            wanted = result
            mayHoldMore = !isBetweenFrames && step.produced == output.count
        }
        return step
    }
}
