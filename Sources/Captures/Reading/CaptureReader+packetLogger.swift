import BaseTypes
import BluetoothLE

/// The byte order of a PacketLogger file.
///
/// Source: Wireshark's wiretap/packetlogger.c. There is no file header. Each record has the length of what follows it,
/// seconds and microseconds since 1970 (u32 each), a type (u8) and a payload. macOS writes big endian, iOS little endian.
struct PacketLoggerState {
    /// The size of the length and the time. A record without a payload has no type.
    static let headerSize = 12
    /// 2001-01-01 in seconds since 1970. A message at the start of a capture must not be older.
    static let messagesBegin: UInt32 = 978_307_200

    var isLittleEndian = false
}

extension CaptureReader {
    /// Detects PacketLogger by its first record. It must have less than 64 KiB and be an HCI packet with the length that
    /// its header says (Bluetooth Core Vol 4 Part E §5.4), an LMP packet or a message.
    ///
    /// - Returns: whether the capture is PacketLogger.
    mutating func openPacketLogger() throws(CaptureError) -> Bool {
        guard tail - head >= 16 else { return false }
        packetLogger.isLittleEndian = load(head, as: UInt32.self).littleEndian <= 0xFFFF
        let length = Int(number32(head))
        guard 9...0xFFFF ~= length, number32(head + 8) < 1_000_000 else { return false }
        let payload = head + PacketLoggerState.headerSize + 1
        let expected: Int
        switch window[head + PacketLoggerState.headerSize] {
        case 0, 8, 9: expected = 3 + Int(window[payload + 2])
        case 1: expected = 2 + Int(window[payload + 1])
        case 2, 3:
            guard try has(17) else { return false }
            expected = 4 + Int(UInt16(littleEndian: load(head + 15, as: UInt16.self)))
        // 10 and 11: LMP; the others are messages.
        case 10, 11, 0xF7...0xFE: expected = number32(head + 4) < PacketLoggerState.messagesBegin ? -1 : length - 9
        default: return false
        }
        guard length - 9 == expected else { return false }
        layout = .packetLogger
        format = .packetLogger
        return true
    }

    @inline(__always) private mutating func number32(_ offset: Int) -> UInt32 {
        let number = load(offset, as: UInt32.self)
        return packetLogger.isLittleEndian ? number.littleEndian : number.bigEndian
    }

    @inline(__always) mutating func nextPacketLoggerRecord() throws(CaptureError) -> CaptureRecord? {
        while true {
            guard try has(PacketLoggerState.headerSize) else { return endOrCut(PacketLoggerState.headerSize) }
            let length = Int(number32(head))
            guard 8...Self.recordBytesMax - 4 ~= length else {
                return try endOfFile(
                    headerSize: PacketLoggerState.headerSize, "it claims \(length) bytes; must be from 8 bytes to 1 MiB"
                )
            }
            guard try has(4 + length) else { return endOrCut(4 + length) }
            let start = head
            head += 4 + length
            recordCount &+= 1
            let microseconds = number32(start + 8)
            guard microseconds < 1_000_000 else {
                noteFractionOfSecond(microseconds, unit: 1000, at: start)
                continue
            }
            let time = Int64(number32(start + 4)) &* 1_000_000_000 &+ Int64(microseconds) &* 1000
            guard time < Self.timesEnd else {
                noteTimeOutOfRange(Int128(time), at: start)
                continue
            }
            let payload = min(start + PacketLoggerState.headerSize + 1, head)..<head
            return CaptureRecord(
                time: Instant(nanoseconds: time), adapter: defaultAdapter(),
                content: length == 8 ? .timeOnly : Self.content(ofType: window[start + 12]), payload: payload)
        }
    }

    private static func content(ofType type: UInt8) -> CaptureRecord.Content {
        switch type {
        case 0: .hci(.command, isReceived: false)
        case 1: .hci(.event, isReceived: true)
        case 2, 3: .hci(.acl, isReceived: type == 3)
        case 8, 9: .hci(.sco, isReceived: type == 9)
        default: .timeOnly
        }
    }
}
