import BaseTypes
public import BluetoothLE
import JSON
package import SystemPackage

/// Reads the records of a capture in order, in any supported format and with constant memory.
///
/// The format is detected by content, and gzip, bzip2, xz and zstd are decompressed. Truncated or corrupt parts are
/// skipped and recorded in ``damages``. Only errors that make reading impossible are thrown.
///
///     var reader = try CaptureReader(.path(path))
///     var decoder = ReportDecoder()
///     while let record = try reader.next() {
///         decoder.decode(record, in: reader.window.span, to: &handler)
///     }
///     decoder.flush(to: &handler)
///     for damage in reader.damages.first { print(damage) }
public struct CaptureReader: ~Copyable {
    /// The maximum length of a record in bytes, including its header. A longer one is damage.
    public static let recordBytesMax = 1024 * 1024 + 64

    /// 2101-01-01T00:00:00Z in nanoseconds since 1970. Records must have times from 1970 to the year 2100.
    @inline(__always) static var timesEnd: Int64 { 4_133_980_800_000_000_000 }

    /// The bytes that contain the payload of the last record, until the next record is read.
    public internal(set) var window: [UInt8]
    /// The format of the capture.
    public internal(set) var format: CaptureFormat
    /// Whether the records have times. If it is `false`, no record has one.
    public internal(set) var hasTimes: Bool
    /// The damage that was found so far.
    public internal(set) var damages: CaptureDamages
    /// The numbers of malformed inputs by kind.
    public internal(set) var malformations: MalformationCounts

    /// The names of the adapters so far. ``CaptureRecord/adapter`` is an index of this array. If several controllers
    /// have the same name with different addresses, each has its own index.
    public var adapters: [String] { adapterTable.names }
    /// The addresses of their controllers, at the same indices; `nil` if the capture has not reported them (rule L7).
    public var adapterAddresses: [DeviceAddress?] { adapterTable.addresses }
    /// The number of bytes of the input file that were read.
    public var position: Int { source.position }
    /// The length of the input file in bytes; `nil` if it is unknown, as for a pipe.
    public var size: Int? { source.size }
    /// The name of the input in errors.
    public var name: String { source.name }
    /// The number of bytes in the window that were not used yet.
    package var unread: Int { tail - head }
    /// Whether a read can wait for another program: the input is a pipe, a socket or a terminal.
    package var isStream: Bool { source.isStream }

    var source: ByteSource
    var adapterTable: AdapterTable
    // Bytes that were read and not used yet are window[head..<tail]; window[0] is byte `base` of the capture.
    var head: Int
    var tail: Int
    var base: Int
    // The number of the line at the head, from 1, in a text format.
    var line: Int
    // Whether no more records follow: the source has ended, or its rest cannot be decoded.
    private var sourceHasEnded: Bool
    // Whether reading goes on after zeros, or after the header of another file, instead of a record.
    private var goesOn: Bool
    var hasEnded: Bool
    var recordCount: Int
    var hasPending: Bool
    let timesAreOptional: Bool
    // Whether the first complete record has shown that the capture has times or not.
    var timesAreKnown: Bool
    var pending: Optional<CaptureRecord>

    var layout: Layout
    var log: LogState
    var pcap: PcapState
    var pcapng: PcapngState
    var packetLogger: PacketLoggerState
    var hcidump: HcidumpState

    /// The times without a zone that were read; see ``CaptureOptions/zone``.
    public internal(set) var localTimes: LocalTimes
    /// The first object of an advertisement log with an iBeacon under the wrong key: manufacturer data as `data`, or AD
    /// structures as `manufacturerData`. It was decoded as its key requires, because a transmitter can send such bytes.
    public internal(set) var misplacedAdvertisement: Optional<CaptureDamage>
    /// The packets whose link types are not read. They were skipped.
    public internal(set) var skippedPackets: SkippedPackets
    /// The number of zeros after the records of each file, in bytes. They are not records: space was allocated before it
    /// was needed, or the records were lost in a power failure. Zeros before further records are damage.
    public internal(set) var zeroBytes: Int
    /// Whether the last row of a table lacks its line end. If the file was cut off, its last value can be incomplete.
    public internal(set) var lacksLineEnd: Bool
    /// The first object of an advertisement log with a beacon without measured power, and the key that can have it.
    public internal(set) var unreadMeasuredPower: Optional<CaptureDamage>
    /// The first object of an advertisement log without times, and the key that can have the time.
    public internal(set) var unreadTime: Optional<CaptureDamage>
    // The number of beacons without measured power so far, up to a limit.
    var missedPowers: Int

    enum Layout {
        case btsnoopMonitor, btsnoopH4, btsnoopH1, pcap, pcapng, packetLogger, hcidump, log
    }

    /// Opens a capture and reads up to its first record.
    ///
    /// - Throws: ``CaptureError`` if it cannot be opened, is empty, or has no supported format.
    public init(_ input: CaptureInput, options: CaptureOptions = CaptureOptions()) throws(CaptureError) {
        self = try Self.opened(try ByteSource(input), options)
    }

    /// Reads a stream up to its first record.
    ///
    /// - Parameters:
    ///   - stream: an open pipe, socket or terminal, which the reader closes.
    ///   - name: its name in errors.
    ///   - options: how it is read.
    ///   - beforeReading: called before each read. If it returns `false`, the capture ends there.
    /// - Throws: ``CaptureError`` if the stream ends before a record, or has no supported format.
    package init(
        _ stream: FileDescriptor, name: String, options: CaptureOptions,
        beforeReading: @escaping (CaptureProgress) -> Bool
    ) throws(CaptureError) {
        let source = ByteSource(stream, name: name)
        source.beforeReading = beforeReading
        self = try Self.opened(source, options)
    }

    private static func opened(
        _ source: ByteSource, _ options: CaptureOptions
    ) throws(CaptureError) -> CaptureReader {
        var reader = CaptureReader(source: source, options)
        try reader.source.recogniseCompression()
        try reader.recogniseFormat()
        // The first record shows whether there are times.
        reader.pending = try reader.read()
        reader.hasPending = true
        reader.timesAreKnown = true
        if let first = reader.pending { reader.hasTimes = first.time != nil }
        return reader
    }

    private init(source: ByteSource, _ options: CaptureOptions) {
        self.source = source
        window = [UInt8](repeating: 0, count: max(options.windowSize, 1))
        format = .advertisementLog
        log = LogState(fields: options.fields)
        // All properties are set here, because the public initializer assigns `self`.
        hasTimes = true
        localTimes = LocalTimes(zone: options.zone)
        timesAreOptional = options.timesAreOptional
        misplacedAdvertisement = nil
        unreadMeasuredPower = nil
        unreadTime = nil
        skippedPackets = SkippedPackets()
        zeroBytes = 0
        lacksLineEnd = false
        missedPowers = 0
        damages = CaptureDamages()
        malformations = MalformationCounts()
        adapterTable = AdapterTable()
        (head, tail, base, line, recordCount) = (0, 0, 0, 1, 0)
        (sourceHasEnded, goesOn, hasEnded, hasPending, timesAreKnown) = (false, false, false, false, false)
        pending = .none
        layout = .log
        pcap = PcapState()
        pcapng = PcapngState()
        packetLogger = PacketLoggerState()
        hcidump = HcidumpState()
    }

    /// Returns the next record; `nil` at the end.
    ///
    /// - Throws: ``CaptureError/readFailed(path:offset:_:)`` if the input cannot be read further.
    public mutating func next() throws(CaptureError) -> CaptureRecord? {
        if hasPending {
            hasPending = false
            return pending
        }
        return try read()
    }

    /// Returns the next record of a stream; `nil` at the end. Before each read that would wait, it calls `body`. If
    /// that returns `false`, the capture ends there.
    ///
    /// - Throws: ``CaptureError/readFailed(path:offset:_:)`` if the input cannot be read further.
    package mutating func next(beforeWaiting body: () -> Bool) throws(CaptureError) -> CaptureRecord? {
        let source = source
        return try withoutActuallyEscaping(body) { body throws(CaptureError) in
            source.beforeReading = { !$0.waits || body() }
            defer { source.beforeReading = nil }
            return try next()
        }
    }

    @inline(__always) private mutating func read() throws(CaptureError) -> CaptureRecord? {
        while !hasEnded {
            if let record = try readFile() { return record }
            guard goesOn else { break }
            goesOn = false
        }
        if recordCount == 0 { try checkLinkTypes() }
        return nil
    }

    /// Throws an error if a capture without records has packets or interfaces of link types that are not supported.
    private func checkLinkTypes() throws(CaptureError) {
        let described = pcapng.hasSupportedInterface ? nil : pcapng.unsupportedType
        if let type = skippedPackets.linkTypes.first ?? described { throw .linkTypeUnsupported(path: name, type) }
    }

    @inline(__always) private mutating func readFile() throws(CaptureError) -> CaptureRecord? {
        switch layout {
        case .btsnoopMonitor: try nextMonitorRecord()
        case .btsnoopH4: try nextPacket(isH4: true)
        case .btsnoopH1: try nextPacket(isH4: false)
        case .pcap: try nextPcapRecord()
        case .pcapng: try nextPcapngRecord()
        case .packetLogger: try nextPacketLoggerRecord()
        case .hcidump: try nextTextRecord()
        case .log: try nextObject()
        }
    }

    /// Reads until `count` bytes are available at the head. Returns `false` if the capture ends before.
    @inline(__always) mutating func has(_ count: Int) throws(CaptureError) -> Bool {
        if tail - head >= count { return true }
        return try refill(count)
    }

    @inline(never) mutating func refill(_ count: Int) throws(CaptureError) -> Bool {
        guard !sourceHasEnded else { return false }
        if head > 0 {
            unsafe window.withUnsafeMutableBytes { bytes in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[head..<tail])
                unsafe bytes.copyMemory(from: rest)
            }
            base += head
            tail -= head
            head = 0
        }
        if count > window.count {
            let size = max(count, min(window.count * 2, Self.recordBytesMax))
            window.append(contentsOf: repeatElement(0, count: size - window.count))
        }
        if source.beforeReading != nil { source.damages = damages }
        while tail < count {
            var result: Result<Int, CaptureError> = .success(0)
            unsafe window.withUnsafeMutableBytes { bytes in
                do throws(CaptureError) {
                    result = .success(
                        unsafe try source.read(into: UnsafeMutableRawBufferPointer(rebasing: bytes[tail...])))
                } catch {
                    result = .failure(error)
                }
            }
            let read = try result.get()
            if read == 0 {
                sourceHasEnded = true
                if let problem = source.problem { damages.note(offset: base + tail, record: recordCount + 1, problem) }
                return false
            }
            tail += read
        }
        return true
    }

    /// Records damage at the head and ends the capture: in a binary format, nothing after a broken record can be
    /// decoded.
    @inline(never) mutating func end(_ reason: String) -> CaptureRecord? {
        hasEnded = true
        damages.note(offset: base + head, record: recordCount + 1, reason)
        return nil
    }

    /// Handles the end of the records of a binary file: bytes that are not a record are at the head. They can be zeros, and
    /// the header of another file after this one (`cat btsnoop_hci.log.last btsnoop_hci.log`).
    ///
    /// Only the bytes between records are searched for a header. A sender could transmit those in a record.
    ///
    /// - Parameters:
    ///   - size: the size of a record's header, at least 12. As many bytes are available.
    ///   - reason: the reason why the bytes are not a record. If they are neither zeros nor a header, it is damage.
    /// - Returns: `nil`. The capture has ended, or ``goesOn`` is set.
    /// - Throws: ``CaptureError/readFailed(path:offset:_:)``.
    @inline(never) mutating func endOfFile(
        headerSize size: Int, _ reason: @autoclosure () -> String
    ) throws(CaptureError) -> CaptureRecord? {
        let start = base + head
        while try has(size), isZero(head..<head + size) { head += size }
        if base + head > start {
            // Zeros before another file can have any length.
            var count = 0
            while count < size, try has(count + 1), window[head + count] == 0 { count += 1 }
            if head + count == tail {
                head += count
            } else if try has(count + 12), isHeader(head + count) {
                head += count
            }
        }
        let zeros = base + head - start
        if tail == head {
            zeroBytes += zeros
            hasEnded = true
            return nil
        }
        do throws(CaptureError) {
            goesOn = try openBinary()
        } catch .readFailed(let path, let offset, let error) {
            throw .readFailed(path: path, offset: offset, error)
        } catch {
            return end("another file starts, but \(error)")
        }
        if goesOn {
            // A binary format other than pcapng always has times.
            if timesAreKnown, !hasTimes { return end("another file starts, but the records before have no times") }
            zeroBytes += zeros
            adapterTable.startFile()
            return nil
        }
        guard zeros > 0 else { return end(reason()) }
        // Records can follow zeros. Then others can be lost.
        damages.note(offset: base + head, record: recordCount + 1, "\(zeros) bytes before it are zeros")
        goesOn = true
        return nil
    }

    /// Returns whether all bytes in a range of the window are zero.
    func isZero(_ range: Range<Int>) -> Bool { range.allSatisfy { window[$0] == 0 } }

    /// Ends a binary format. If fewer than `needed` bytes are left, the last record is truncated, which is damage.
    @inline(never) mutating func endOrCut(_ needed: Int) -> CaptureRecord? {
        if tail == head || source.problem != nil {
            hasEnded = true
            return nil
        }
        return end("it is truncated: \(tail - head) of its \(needed) bytes are present")
    }

    /// Returns the time `nanoseconds` after 1970; `nil` if it is outside 1970…2100.
    @inline(__always) static func instant(_ nanoseconds: Int128) -> Instant? {
        guard nanoseconds >= 0, nanoseconds < Int128(timesEnd) else { return nil }
        return Instant(nanoseconds: Int64(truncatingIfNeeded: nanoseconds))
    }

    /// Returns the time for seconds since 1970 and nanoseconds below one second; `nil` if it is outside 1970…2100.
    @inline(__always) static func instant(seconds: Int, nanoseconds: Int) -> Instant? {
        guard seconds >= 0, seconds < timesEnd / 1_000_000_000 else { return nil }
        return Instant(nanoseconds: Int64(seconds &* 1_000_000_000 &+ nanoseconds))
    }

    /// Records that the record at `offset` of the window is skipped because its time is outside 1970…2100.
    @inline(never) mutating func noteTimeOutOfRange(_ nanoseconds: Int128, at offset: Int) {
        damages.note(
            offset: base + offset, record: recordCount,
            "its time is \(Self.date(of: nanoseconds)); must be within 1970…2100")
    }

    /// Returns `2255-03-14T16:00:00Z` for a time in nanoseconds since 1970, or a phrase if it is millions of years
    /// away.
    static func date(of nanoseconds: Int128) -> String {
        var (days, rest) = nanoseconds.quotientAndRemainder(dividingBy: 86_400_000_000_000)
        guard abs(days) < 1_000_000_000 else { return "millions of years away" }
        if rest < 0 { (days, rest) = (days - 1, rest + 86_400_000_000_000) }
        let date = CivilDate(day: Int(days))
        let second = Int(rest / 1_000_000_000)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(date.year)-\(two(date.month))-\(two(date.day))T\(two(second / 3600)):\(two(second / 60 % 60)):"
            + "\(two(second % 60))Z"
    }

    /// Returns the index of an adapter, and counts it if there are too many.
    @inline(__always) mutating func counted(_ place: Int?) -> Int? {
        if place == nil { malformations.count(.adaptersTooMany) }
        return place
    }

    // The callers must have checked that the bytes are in the window.
    @inline(__always) mutating func load<Number: FixedWidthInteger & BitwiseCopyable>(
        _ offset: Int, as type: Number.Type
    ) -> Number {
        unsafe window.span.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: type)
    }

    // MARK: Detection

    /// Detects the format by the first bytes.
    private mutating func recogniseFormat() throws(CaptureError) {
        // A short line of a pipe is sufficient.
        var count = 1
        while count < 16, try has(count), window[0] != UInt8(ascii: "{") || window[count - 1] != 0x0A { count += 1 }
        if count == 16 { _ = try has(16) }
        guard tail > head else {
            if let problem = source.problem { throw .inflationFailed(path: name, problem) }
            throw .empty(path: name)
        }
        if try openBinary() { return }
        if try openPacketLogger() { return }
        // Before blanks are skipped, which have two bytes in UTF-16.
        if let format = UnsupportedFormat(firstBytes: window[head..<min(head + 16, tail)]) { throw unsupported(format) }
        let tabs = try skipLeadingBlanks()
        guard tail > head else { throw .empty(path: name) }
        if try isLog() {
            if let format = try objectFormat(at: 0) { throw unsupported(format) }
            (layout, format) = (.log, .advertisementLog)
        } else if try isHcidump() {
            (layout, format) = (.hcidump, .hcidump)
        } else {
            (layout, format) = try recogniseText(afterTabs: tabs)
        }
    }

    /// Reads the header of a binary file if the bytes at the head start with its magic number.
    ///
    /// - Returns: whether they do.
    private mutating func openBinary() throws(CaptureError) -> Bool {
        if begins(with: Btsnoop.magic) {
            try openBtsnoop()
        } else if tail - head >= 4, PcapState.isMagic(load(head, as: UInt32.self)) {
            try openPcap()
        } else if tail - head >= 4, load(head, as: UInt32.self) == PcapngState.sectionHeader {
            openPcapng()
        } else {
            return false
        }
        return true
    }

    /// Returns whether the bytes at an offset of the window, at least twelve, are the start of the header of a binary file.
    mutating func isHeader(_ offset: Int) -> Bool {
        let word = load(offset, as: UInt32.self)
        if word == PcapngState.sectionHeader {
            return PcapngState.isByteOrderMagic(load(offset + 8, as: UInt32.self))
        }
        // The version of pcap is 2.4.
        let version = load(offset + 4, as: UInt32.self).littleEndian
        if PcapState.isMagic(word) { return version == 0x0004_0002 || version.byteSwapped == 0x0002_0004 }
        return load(offset, as: UInt64.self) == Btsnoop.magicNumber
            && UInt32(bigEndian: load(offset + 8, as: UInt32.self)) == 1
    }

    /// Returns the format of the object at an offset from the head if it is a line of a gateway. It reads no further than
    /// necessary, so that the lines of a pipe are read as they arrive.
    private mutating func objectFormat(at offset: Int) throws(CaptureError) -> UnsupportedFormat? {
        while true {
            let bytes = window[head + offset..<min(head + offset + UnsupportedFormat.lookahead, tail)]
            switch UnsupportedFormat.object(bytes) {
            case .found(let format): return format
            case .none: return nil
            case .undecided:
                guard bytes.count < UnsupportedFormat.lookahead, try has(offset + bytes.count + 1) else { return nil }
            }
        }
    }

    /// Returns the format if one of the first lines is a packet of hcidump, a line of `hcitool lescan`, or a text, such
    /// as an MQTT topic, and an object, or if the first line is the header of a table; throws an error for every other
    /// text. `tabs` is the number of tabs before the first line.
    private mutating func recogniseText(afterTabs tabs: Int) throws(CaptureError) -> (Layout, CaptureFormat) {
        var start = 0
        var heading = TableHeading(tabs: tabs)
        while start < UnsupportedFormat.lookahead, try has(start + 1) {
            var end = start
            while end < UnsupportedFormat.lookahead, try has(end + 1), window[head + end] != 0x0A { end += 1 }
            let line = window[head + start..<head + end]
            // Each line of a pipe is checked as it arrives. A tar archive, which needs more bytes, is not a text.
            if line.contains(0), try has(262), let format = UnsupportedFormat(firstBytes: window[head..<tail]) {
                throw unsupported(format)
            }
            if HcidumpText.isPacket(window.span, head + start, head + end) { return (.hcidump, .hcidump) }
            if let format = UnsupportedFormat(line: line) {
                // hcitool lescan can write to the terminal of hcidump, so its packets can follow.
                if format == .lescanText { return (.hcidump, .hcidump) }
                throw unsupported(format)
            }
            if try openTable(start..<end, &heading) { return (.log, .advertisementLog) }
            if heading.isOver, let object = try objectAfterPrefix(from: start) {
                if let format = try objectFormat(at: object) { throw unsupported(format) }
                log.framing.hasPrefixes = true
                return (.log, .advertisementLog)
            }
            start = end + 1
        }
        if let problem = source.problem { throw .inflationFailed(path: name, problem) }
        let isWhole = tail - head < UnsupportedFormat.lookahead
        let firstBytes = window[head..<min(head + UnsupportedFormat.lookahead, tail)]
        let beginning = Self.quoted(firstBytes, isWhole: isWhole)
        if beginning != nil, let reason = tableProblem() { throw .headerInvalid(path: name, reason) }
        throw .unrecognised(path: name, beginning: beginning)
    }

    /// Returns the error for an input of a format that is not read.
    func unsupported(_ format: UnsupportedFormat) -> CaptureError {
        var format = format
        format.decompressor = source.decompressor
        return .unsupported(path: name, format)
    }

    mutating func begins(with magic: [UInt8]) -> Bool {
        guard tail - head >= magic.count else { return false }
        for index in magic.indices where window[head + index] != magic[index] { return false }
        return true
    }

    /// Skips blanks and a byte order mark before a text. Returns the number of tabs at the start of its first line.
    private mutating func skipLeadingBlanks() throws(CaptureError) -> Int {
        if begins(with: [0xEF, 0xBB, 0xBF]) { head += 3 }
        var tabs = 0
        while try has(1), JSONScanner.isSpace(window[head]) {
            if window[head] == 0x09 { tabs += 1 }
            if window[head] == 0x0A { (line, tabs) = (line + 1, 0) }
            head += 1
        }
        return tabs
    }

    /// Returns whether the text at the head is from hcidump: its heading, an arrow, or a time and an arrow.
    private mutating func isHcidump() throws(CaptureError) -> Bool {
        var length = 0
        while length < 64, try has(length + 1), window[head + length] != 0x0A { length += 1 }
        let line = window[head..<head + length]
        if line.starts(with: Array("HCI sniffer".utf8)) || line.starts(with: Array("device: ".utf8)) { return true }
        // Only digits and separators can be before the arrow.
        guard let arrow = line.firstIndex(where: { $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "<") }) else {
            return false
        }
        return line[..<arrow].allSatisfy { 0x30...0x3A ~= $0 || $0 == 0x20 || $0 == 0x2D || $0 == 0x2E }
            && (arrow + 1 == line.endIndex || line[arrow + 1] == 0x20)
    }

    /// Returns the start of the first line in quotation marks; `nil` if the bytes are not a text. If the input has more
    /// bytes, the last character can be cut.
    private static func quoted(_ firstBytes: ArraySlice<UInt8>, isWhole: Bool) -> String? {
        let line = firstBytes.prefix { $0 != 0x0A && $0 != 0x0D }
        let scalars = String(decoding: line, as: UTF8.self).unicodeScalars
        let isText = scalars.dropLast(isWhole || line.count < firstBytes.count ? 0 : 1).allSatisfy {
            $0.properties.generalCategory != .control && $0 != "\u{FFFD}" || $0 == "\t"
        }
        return isText ? "“\(LogProblem.quoted(line, bytesMax: 40))”" : nil
    }
}
