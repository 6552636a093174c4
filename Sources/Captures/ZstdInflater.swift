import CZstd

/// Inflates Zstandard, of several frames too (RFC 8878 §3).
@safe final class ZstdInflater: Inflater {
    /// Frames may look back 2^27 bytes (128 MiB), what `zstd -d` allows as well.
    private static let windowLogMax: Int32 = 27

    private let context: OpaquePointer
    private var isBetweenFrames = true

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
        if isAtEnd, isBetweenFrames { return InflaterStep() }
        var source = unsafe ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var target = unsafe ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
        let result = unsafe ZSTD_decompressStream(context, &target, &source)
        var step = unsafe InflaterStep(consumed: source.pos, produced: target.pos)
        if ZSTD_isError(result) != 0 {
            let words = Self.words(result)
            step.problem =
                words.contains("memory")
                ? "the zstd data look back further than 128 MiB; compress them again without --long or --ultra"
                : "the zstd data are corrupt: \(words)"
        } else if isAtEnd, step.produced == 0, result != 0 {
            step.problem = "the zstd data are cut off"
        } else {
            isBetweenFrames = result == 0
        }
        return step
    }
}
