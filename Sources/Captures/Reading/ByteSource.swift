import SystemPackage

/// The bytes of a capture in order, decompressed if necessary.
///
/// Memory does not depend on the file: one input buffer, and the windows of zlib (32 KiB) or zstd (at most 128 MiB). A
/// decompression bomb only costs time. Files are read, not mapped with mmap(2): if a mapped file is truncated while it
/// is read, SIGBUS ends the process. A short read is damage with an offset.
final class ByteSource {
    private enum Origin {
        case descriptor(FileDescriptor, isOurs: Bool)
        case memory([UInt8])
    }

    private static let inputSize = 64 * 1024

    let name: String
    /// The length of the file in bytes; `nil` if it is unknown (a pipe).
    let size: Int?
    /// The number of bytes of the file that have been read.
    private(set) var position = 0
    /// The reason if decompression ended before the end of the file.
    private(set) var problem: String?
    /// The command that prints the decompressed bytes of a file; `nil` if the file is not compressed.
    private(set) var decompressor: String?
    private let origin: Origin
    private var inflater: (any Inflater)?
    // The bytes that were read and not delivered yet: the first bytes during detection, later compressed bytes.
    private var input: [UInt8] = []
    private var inputStart = 0
    private var inputEnd = 0

    init(_ source: CaptureInput) throws(CaptureError) {
        name = source.name
        switch source {
        case .path("-"):
            origin = .descriptor(.standardInput, isOurs: false)
            size = nil
        case .path(let path):
            let descriptor: FileDescriptor
            do {
                descriptor = try FileDescriptor.open(FilePath(path), .readOnly, options: .closeOnExec)
            } catch {
                throw .openFailed(path: path, error as? Errno ?? .ioError)
            }
            origin = .descriptor(descriptor, isOurs: true)
            size = Self.length(of: descriptor)
        case .bytes(let bytes, _):
            origin = .memory(bytes)
            size = bytes.count
        }
    }

    deinit {
        // Nothing was written, so an error of close(2) needs no action.
        if case .descriptor(let descriptor, true) = origin { try? descriptor.close() }
    }

    private static func length(of descriptor: FileDescriptor) -> Int? {
        // Pipes cannot seek and devices have no length: the size of such inputs is unknown, which is not an error.
        guard let end = try? descriptor.seek(offset: 0, from: .end),
            (try? descriptor.seek(offset: 0, from: .start)) != nil
        else { return nil }
        return end > 0 && end < Int.max ? Int(end) : nil
    }

    /// Reads the first bytes and sets up decompression if they are those of gzip or zstd.
    func recogniseCompression() throws(CaptureError) {
        input = [UInt8](repeating: 0, count: Self.inputSize)
        // A pipe can deliver a few bytes at a time.
        while inputEnd < 4 {
            let count = try readRaw(at: inputEnd)
            if count == 0 { break }
            inputEnd += count
        }
        guard inputEnd > 0 else { throw .empty(path: name) }
        if inputEnd >= 2, input[0] == 0x1F, input[1] == 0x8B {
            (inflater, decompressor) = (try GzipInflater(path: name), "zcat")
        } else if inputEnd >= 4, input[1] == 0xB5, input[2] == 0x2F, input[3] == 0xFD, input[0] == 0x28 {
            (inflater, decompressor) = (try ZstdInflater(path: name), "zstdcat")
        }
    }

    private func readRaw(at offset: Int) throws(CaptureError) -> Int {
        let (origin, position, name) = (origin, position, name)
        let result = unsafe input.withUnsafeMutableBytes { buffer in
            let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[offset...])
            return unsafe Self.read(origin, at: position, into: target, name)
        }
        let count = try result.get()
        self.position += count
        return count
    }

    private static func read(
        _ origin: Origin, at position: Int, into target: UnsafeMutableRawBufferPointer, _ name: String
    ) -> Result<Int, CaptureError> {
        switch origin {
        case .memory(let bytes):
            let count = min(target.count, bytes.count - position)
            unsafe bytes.withUnsafeBytes { source in
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[position..<position + count]))
            }
            return .success(count)
        case .descriptor(let descriptor, _):
            do {
                return .success(unsafe try descriptor.read(into: target))
            } catch {
                return .failure(.readFailed(path: name, offset: position, error as? Errno ?? .ioError))
            }
        }
    }

    /// Fills the start of `target`, which must not be empty, and returns the number of bytes; 0 at the end.
    func read(into target: UnsafeMutableRawBufferPointer) throws(CaptureError) -> Int {
        if let inflater { return unsafe try inflate(inflater, into: target) }
        if inputStart < inputEnd {
            let count = min(target.count, inputEnd - inputStart)
            unsafe input.withUnsafeBytes { bytes in
                let source = unsafe UnsafeRawBufferPointer(rebasing: bytes[inputStart..<inputStart + count])
                unsafe target.copyMemory(from: source)
            }
            inputStart += count
            // From here on, uncompressed bytes are read directly into the window.
            if inputStart == inputEnd { input = [] }
            return count
        }
        let count = unsafe try Self.read(origin, at: position, into: target, name).get()
        position += count
        return count
    }

    private func inflate(
        _ inflater: any Inflater, into target: UnsafeMutableRawBufferPointer
    ) throws(CaptureError) -> Int {
        while problem == nil {
            var isAtEnd = false
            if inputStart == inputEnd {
                inputStart = 0
                inputEnd = try readRaw(at: 0)
                isAtEnd = inputEnd == 0
            }
            let step = unsafe input.withUnsafeBytes { bytes in
                unsafe inflater.inflate(
                    UnsafeRawBufferPointer(rebasing: bytes[inputStart..<inputEnd]), isAtEnd: isAtEnd, into: target)
            }
            inputStart += step.consumed
            if let reason = step.problem {
                problem = "\(reason) (byte \(position - inputEnd + inputStart) of the file)"
            }
            if step.produced > 0 { return step.produced }
            if isAtEnd { return 0 }
        }
        return 0
    }
}

/// The result of one step of decompression.
struct InflaterStep {
    var consumed = 0
    var produced = 0
    /// The reason if no more bytes will follow.
    var problem: String?
}

/// Decompresses a stream in pieces.
protocol Inflater: AnyObject {
    /// Decompresses from `input` into `output`. If `isAtEnd`, nothing follows `input`.
    ///
    /// A step without a problem consumes or produces something, except at the end.
    func inflate(
        _ input: UnsafeRawBufferPointer, isAtEnd: Bool, into output: UnsafeMutableRawBufferPointer
    ) -> InflaterStep
}
