import BaseTypes
import JSON
import SystemPackage

/// The output of a capture: a file with a buffer of fixed size, or memory that its owner empties.
final class ByteSink {
    private static let bufferSize = 64 * 1024

    let name: String
    private let descriptor: FileDescriptor?
    private let isOurs: Bool
    private var buffer: [UInt8] = []
    /// The first error. Nothing is written after it.
    private var error: CaptureError?
    private var isClosed = false

    /// Opens the file at `path`: an existing one is truncated, a new one has mode 0640 minus the umask. `-` is standard
    /// output.
    init(path: String) throws(CaptureError) {
        isOurs = path != "-"
        name = isOurs ? path : "standard output"
        if isOurs {
            do {
                descriptor = try FileDescriptor.open(
                    FilePath(path), .writeOnly, options: [.create, .truncate, .closeOnExec],
                    permissions: [.ownerReadWrite, .groupRead])
            } catch {
                throw .createFailed(path: path, error as? Errno ?? .ioError)
            }
        } else {
            descriptor = .standardOutput
        }
        buffer.reserveCapacity(Self.bufferSize)
    }

    /// Creates a sink in memory.
    init() {
        isOurs = false
        name = "memory"
        descriptor = nil
        buffer.reserveCapacity(Self.bufferSize)
    }

    deinit {
        // Closed without ``close()``: the writer was discarded, and so is the content of its buffer.
        if isOurs, !isClosed { try? descriptor?.close() }
    }

    /// The number of bytes in the buffer.
    var count: Int { buffer.count }

    /// Returns the bytes in the buffer and removes them.
    func drain() -> [UInt8] {
        var taken: [UInt8] = []
        taken.reserveCapacity(Self.bufferSize)
        swap(&taken, &buffer)
        return taken
    }

    /// Appends to the buffer; ``flushIfFull()`` writes it.
    @inline(__always) func append(_ byte: UInt8) { buffer.append(byte) }

    @inline(__always) func append(_ bytes: some Collection<UInt8>) { buffer.append(contentsOf: bytes) }

    func append(_ text: StaticString) {
        unsafe buffer.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    func append(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe buffer.append(contentsOf: $0) }
    }

    func append(_ line: borrowing LineBuffer) { unsafe line.withBytes { unsafe buffer.append(contentsOf: $0) } }

    @inline(__always) func append<Number: FixedWidthInteger>(bigEndian number: Number) {
        for byte in (0..<Number.bitWidth / 8).reversed() {
            buffer.append(UInt8(truncatingIfNeeded: number >> (byte * 8)))
        }
    }

    @inline(__always) func append<Number: FixedWidthInteger>(littleEndian number: Number) {
        for byte in 0..<Number.bitWidth / 8 { buffer.append(UInt8(truncatingIfNeeded: number >> (byte * 8))) }
    }

    /// Must be called after each record, so that the buffer never has more than its size and one record.
    @inline(__always) func flushIfFull() throws(CaptureError) {
        if buffer.count >= Self.bufferSize { try flush() }
    }

    /// Writes the buffer to the file, without fsync(2). Without a file, it does nothing.
    func flush() throws(CaptureError) {
        if let error { throw error }
        guard let descriptor, !buffer.isEmpty else { return }
        do {
            _ = try unsafe buffer.withUnsafeBytes { try unsafe descriptor.writeAll($0) }
        } catch {
            let error = CaptureError.writeFailed(path: name, error as? Errno ?? .ioError)
            self.error = error
            throw error
        }
        buffer.removeAll(keepingCapacity: true)
    }

    /// Writes the buffer and closes the file. An error of close(2) is an error of writing (the quota of a network file
    /// system).
    func close() throws(CaptureError) {
        try flush()
        guard isOurs, !isClosed, let descriptor else { return }
        isClosed = true
        do {
            try descriptor.close()
        } catch {
            throw .writeFailed(path: name, error as? Errno ?? .ioError)
        }
    }

    // MARK: Blocks of pcapng

    // Little endian: type, length, body padded to 4 bytes, length (draft-ietf-opsawg-pcapng).

    /// Appends a Section Header Block: version 1.0, of unknown length.
    func appendSectionHeader() {
        append(littleEndian: PcapngState.sectionHeader)
        append(littleEndian: UInt32(28))
        append(littleEndian: PcapngState.byteOrderMagic)
        append(littleEndian: UInt16(1))
        append(littleEndian: UInt16(0))
        append(littleEndian: Int64(-1))
        append(littleEndian: UInt32(28))
    }

    /// Appends an Interface Description Block of link type 254 with time stamps in nanoseconds: for the adapter `name`,
    /// or for records without an adapter.
    func appendInterface(name: String?) {
        let description = name == nil ? [] : Array(PcapngState.adapterDescription.utf8)
        let name = name.map { Array($0.utf8.prefix(AdapterTable.nameBytesMax)) } ?? Array("bluetooth-monitor".utf8)
        let options = 4 + Self.padded(name.count) + 4 + Self.padded(description.count) + 8 + 4
        let length = UInt32(20 + options)
        append(littleEndian: UInt32(1))
        append(littleEndian: length)
        append(littleEndian: UInt16(LinkType.linuxMonitor.rawValue))
        append(littleEndian: UInt16(0))
        append(littleEndian: UInt32(0))
        appendOption(2, name)
        appendOption(3, description)
        // if_tsresol: 10^-9 seconds.
        appendOption(9, [9])
        appendOption(0, [])
        append(littleEndian: length)
    }

    private static func padded(_ count: Int) -> Int { (count + 3) / 4 * 4 }

    private func appendOption(_ code: UInt16, _ value: [UInt8]) {
        append(littleEndian: code)
        append(littleEndian: UInt16(truncatingIfNeeded: value.count))
        append(value)
        for _ in value.count..<Self.padded(value.count) { append(0) }
    }

    /// Appends an Enhanced Packet Block with the pseudo-header of link type 254: adapter and opcode, big endian.
    func appendPacket(interface: UInt32, index: UInt16, opcode: UInt16, _ payload: Span<UInt8>, time: Instant) {
        let count = payload.count + 4
        let length = UInt32(32 + Self.padded(count))
        append(littleEndian: UInt32(6))
        append(littleEndian: length)
        append(littleEndian: interface)
        append(littleEndian: UInt32(truncatingIfNeeded: time.nanoseconds >> 32))
        append(littleEndian: UInt32(truncatingIfNeeded: time.nanoseconds))
        append(littleEndian: UInt32(count))
        append(littleEndian: UInt32(count))
        append(bigEndian: index)
        append(bigEndian: opcode)
        append(payload)
        for _ in count..<Self.padded(count) { append(0) }
        append(littleEndian: length)
    }
}
