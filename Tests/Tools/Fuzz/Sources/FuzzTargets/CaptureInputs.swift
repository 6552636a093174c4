import Captures
internal import Glibc

/// Checks that the size of the window does not affect the result of reading a capture: the same bytes must give the
/// same records, damages, malformations and error.
///
/// The first byte of `input` defines the size of the window. The second byte selects the magic number if the format has
/// several; its highest bits select the names of the fields (``fieldMap(of:)``). The capture follows.
/// - Returns: whether libFuzzer should keep the input.
func fuzzCapture(_ input: Span<UInt8>, of target: Target) -> Bool {
    guard input.count > 2 else { return false }
    var bytes = bytes(input, from: 2)
    begin(&bytes, as: target, variant: input[1])
    let fields = fieldMap(of: input[1])
    // Decompressed data can have a thousand times the size of the input. With a window of a few bytes, reading them
    // would take too long.
    let windowSize = target == .compressed ? 64 + 16 * Int(input[0]) : 1 + Int(input[0])
    let small = Trace(bytes, fields: fields, windowSize: windowSize)
    let large = Trace(bytes, fields: fields, windowSize: 16 * 1024)
    guard small == large else {
        print("with a window of \(windowSize) bytes: \(small)\nwith 16384: \(large)")
        fflush(nil)
        preconditionFailure("the result depends on the size of the window")
    }
    return target.keeps(small)
}

/// Returns the names of the fields that the highest bits of a byte select: those of this project, those of another
/// program's log with alternatives and names that this project has for other fields (0x80), or paths and base64 (0x40).
func fieldMap(of byte: UInt8) -> FieldMap {
    byte & 0x80 != 0 ? otherFields : byte & 0x40 != 0 ? innerFields : FieldMap()
}

private let otherFields = parsed(
    "adapter=scannerID|address|adapter,measuredPower=calibratedPower|power|rssi,time=t|time|minor")
private let innerFields = parsed(
    "data=a.data:base64|data|payload.data,manufacturerData=a.b.c|a:base64,uuid=a.uuid|uuid,time=time|a.b|tst,adapter=b.c|topic"
)

private func parsed(_ text: String) -> FieldMap {
    do {
        return try FieldMap(text)
    } catch { preconditionFailure("\(error)") }
}

func bytes(_ input: Span<UInt8>, from start: Int) -> [UInt8] {
    (min(start, input.count)..<input.count).map { input[$0] }
}

/// Replaces the first bytes by the magic number of the target's format. Text formats have none, so their bytes stay as
/// they are.
private func begin(_ bytes: inout [UInt8], as target: Target, variant: UInt8) {
    let magics: [[UInt8]] =
        switch target {
        case .btsnoop: [Array("btsnoop\0".utf8) + [0, 0, 0, 1]]
        case .pcap:
            [
                [0xD4, 0xC3, 0xB2, 0xA1], [0xA1, 0xB2, 0xC3, 0xD4], [0x4D, 0x3C, 0xB2, 0xA1], [0xA1, 0xB2, 0x3C, 0x4D],
            ]
        case .pcapng: [[0x0A, 0x0D, 0x0D, 0x0A]]
        case .compressed:
            [
                [0x1F, 0x8B, 0x08], [0x28, 0xB5, 0x2F, 0xFD], [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00],
                [0x42, 0x5A, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59],
            ]
        default: []
        }
    guard !magics.isEmpty else { return }
    let magic = magics[Int(variant) % magics.count]
    for index in 0..<min(magic.count, bytes.count) { bytes[index] = magic[index] }
}

extension Target {
    /// Returns whether libFuzzer should keep an input with this result. Inputs of the targets `packet-logger`,
    /// `hcidump`, `log` and `unsupported` must have the target's format; all other inputs are kept.
    fileprivate func keeps(_ result: Trace) -> Bool {
        switch self {
        case .packetLogger: result.format == .packetLogger
        case .hcidump: result.format == .hcidump
        case .log: result.format == .advertisementLog
        case .unsupported: if case .unsupported = result.error { true } else { false }
        default: true
        }
    }
}
