import Glibc
import SystemPackage

/// The bytes of a capture in order, decompressed if necessary.
///
/// Memory does not depend on the file: one input buffer, and the window of zlib (32 KiB), the block of bzip2 (at most
/// 3 MiB), or the window of zstd or xz (at most 128 MiB). A decompression bomb only costs time. Files are read, not
/// mapped with mmap(2): if a mapped file is truncated while it is read, SIGBUS ends the process. A short read is damage
/// with an offset.
final class ByteSource {
    private enum Origin {
        case descriptor(FileDescriptor, isOurs: Bool)
        case memory([UInt8])
    }

    /// A compression that is recognised. The raw value is the command that prints the decompressed bytes of a file.
    private enum Compression: String, CaseIterable {
        case gzip = "zcat"
        case zstd = "zstdcat"
        case xz = "xzcat"
        case bzip2 = "bzcat"

        /// The first bytes of compressed data.
        var magics: [[UInt8]] {
            switch self {
            case .gzip: [[0x1F, 0x8B]]
            case .zstd: [[0x28, 0xB5, 0x2F, 0xFD]]
            case .xz: [[0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00]]
            case .bzip2:
                // The size of the blocks is a digit. A block or, if the stream is empty, its end follows.
                (UInt8(ascii: "1")...UInt8(ascii: "9")).flatMap { size in
                    [[0x31, 0x41, 0x59, 0x26, 0x53, 0x59], [0x17, 0x72, 0x45, 0x38, 0x50, 0x90]].map {
                        [0x42, 0x5A, 0x68, size] + $0
                    }
                }
            }
        }

        func inflater(path: String) throws(CaptureError) -> any Inflater {
            switch self {
            case .gzip: try GzipInflater(path: path)
            case .zstd: try ZstdInflater(path: path)
            case .xz: try XzInflater(path: path)
            case .bzip2: try Bzip2Inflater(path: path)
            }
        }
    }

    private static let inputSize = 64 * 1024

    let name: String
    /// The length of the file in bytes; `nil` if it is unknown (a pipe).
    let size: Int?
    /// Whether a read can wait for another program: the input is a pipe, a socket or a terminal.
    let isStream: Bool
    /// Called before each read of a stream. If it returns `false`, the input ends there.
    var beforeReading: ((CaptureProgress) -> Bool)?
    /// The damage so far, for ``beforeReading``.
    var damages = CaptureDamages()
    /// The number of bytes of the file that have been read.
    private(set) var position = 0
    /// The reason if decompression ended before the end of the file; `nil` until all bytes before that are delivered.
    private(set) var problem: String?
    /// The command that prints the decompressed bytes of a file; `nil` if the file is not compressed.
    private(set) var decompressor: String?
    private let origin: Origin
    private var inflater: (any Inflater)?
    private var failure: String?
    // The bytes that were read and not delivered yet: the first bytes during detection, later compressed bytes.
    private var input: [UInt8] = []
    private var inputStart = 0
    private var inputEnd = 0

    init(_ source: CaptureInput) throws(CaptureError) {
        name = source.name
        switch source {
        case .path("-"):
            origin = .descriptor(.standardInput, isOurs: false)
            (size, isStream) = (nil, Self.isStream(.standardInput))
        case .path(let path):
            let descriptor: FileDescriptor
            do {
                descriptor = try FileDescriptor.open(FilePath(path), .readOnly, options: .closeOnExec)
            } catch {
                throw .openFailed(path: path, error as? Errno ?? .ioError)
            }
            origin = .descriptor(descriptor, isOurs: true)
            (size, isStream) = (Self.length(of: descriptor), Self.isStream(descriptor))
        case .bytes(let bytes, _):
            origin = .memory(bytes)
            (size, isStream) = (bytes.count, false)
        }
    }

    /// Takes over an open descriptor, which is closed at the end.
    init(_ descriptor: FileDescriptor, name: String) {
        self.name = name
        origin = .descriptor(descriptor, isOurs: true)
        (size, isStream) = (Self.length(of: descriptor), Self.isStream(descriptor))
    }

    deinit {
        // Nothing was written, so an error of close(2) needs no action.
        if case .descriptor(let descriptor, true) = origin { try? descriptor.close() }
    }

    private static func isStream(_ descriptor: FileDescriptor) -> Bool {
        var status = stat()
        return unsafe fstat(descriptor.rawValue, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    private static func length(of descriptor: FileDescriptor) -> Int? {
        // Pipes cannot seek and devices have no length: the size of such inputs is unknown, which is not an error.
        guard let end = try? descriptor.seek(offset: 0, from: .end),
            (try? descriptor.seek(offset: 0, from: .start)) != nil
        else { return nil }
        return end > 0 && end < Int.max ? Int(end) : nil
    }

    /// Reads the first bytes and sets up decompression if they are those of compressed data.
    func recogniseCompression() throws(CaptureError) {
        input = [UInt8](repeating: 0, count: Self.inputSize)
        // A pipe can deliver a few bytes at a time. No more bytes are read than are needed for the decision.
        let magics = Compression.allCases.flatMap { kind in kind.magics.map { (kind, $0) } }
        while magics.contains(where: { $1.count > inputEnd && $1.starts(with: input[..<inputEnd]) }) {
            let count = try readRaw(at: inputEnd)
            if count == 0 { break }
            inputEnd += count
        }
        guard inputEnd > 0 else { throw .empty(path: name) }
        guard let kind = magics.first(where: { input[..<inputEnd].starts(with: $1) })?.0 else { return }
        (inflater, decompressor) = (try kind.inflater(path: name), kind.rawValue)
    }

    /// Asks ``beforeReading`` whether the stream may be read.
    private func mayRead() -> Bool {
        guard isStream, let beforeReading, case .descriptor(let descriptor, _) = origin else { return true }
        var request = pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0)
        return beforeReading(
            CaptureProgress(waits: unsafe poll(&request, 1, 0) == 0, position: position, damages: damages))
    }

    private func readRaw(at offset: Int) throws(CaptureError) -> Int {
        try readIfPermitted {
            let (origin, position, name) = (origin, position, name)
            return unsafe input.withUnsafeMutableBytes { buffer in
                let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[offset...])
                return unsafe Self.read(origin, at: position, into: target, name)
            }
        }
    }

    /// Reads once, or repeatedly if another reader of the stream was faster, or a program opened a FIFO at this moment.
    private func readIfPermitted(_ read: () -> Result<Int, CaptureError>) throws(CaptureError) -> Int {
        while mayRead() {
            let result = read()
            if beforeReading != nil, case .failure(.readFailed(_, _, .wouldBlock)) = result {
                waitShortly()
                continue
            }
            let count = try result.get()
            position += count
            return count
        }
        return 0
    }

    private func waitShortly() {
        guard case .descriptor(let descriptor, _) = origin else { return }
        var request = pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&request, 1, 100)
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
        return try readIfPermitted { unsafe Self.read(origin, at: position, into: target, name) }
    }

    private func inflate(
        _ inflater: any Inflater, into target: UnsafeMutableRawBufferPointer
    ) throws(CaptureError) -> Int {
        while failure == nil {
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
                failure = "\(reason) (byte \(position - inputEnd + inputStart) of the file)"
            }
            if step.produced > 0 { return step.produced }
            if isAtEnd { break }
        }
        problem = failure
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
