import Captures
internal import Glibc

/// One capture. Its first octet is the window's size; the second chooses how it begins, and whose log it is.
///
/// Whatever the window's size, the same bytes give the same records and the same damage.
func fuzzCapture(_ input: Span<UInt8>, of target: Target) -> Bool {
    guard input.count > 2 else { return false }
    var bytes = octets(input, from: 2)
    begin(&bytes, as: target, variant: input[1])
    let fields = input[1] & 0x80 != 0 ? otherFields : FieldMap()
    // What is inflated may be a thousand times the input: a window of a few octets would take its time over it.
    let windowSize = target == .compressed ? 64 + 16 * Int(input[0]) : 1 + Int(input[0])
    let small = Trace(bytes, fields: fields, windowSize: windowSize)
    let large = Trace(bytes, fields: fields, windowSize: 16 * 1024)
    guard small == large else {
        print("with \(windowSize) octets at once: \(small)\nwith 16384: \(large)")
        fflush(nil)
        preconditionFailure("what is read depends on the window's size")
    }
    return target.reads(small.format)
}

/// Other people's names, with alternatives, and names that our own log has for other fields.
let otherFields: FieldMap = {
    do {
        return try FieldMap(
            "adapter=scannerID|address|adapter,measuredPower=calibratedPower|power|rssi,time=t|time|minor")
    } catch { preconditionFailure("\(error)") }
}()

func octets(_ input: Span<UInt8>, from start: Int) -> [UInt8] {
    (min(start, input.count)..<input.count).map { input[$0] }
}

/// Puts a format's first bytes in the place of what stands there; texts stay as they are.
private func begin(_ bytes: inout [UInt8], as target: Target, variant: UInt8) {
    let magics: [[UInt8]] =
        switch target {
        case .btsnoop: [Array("btsnoop\0".utf8) + [0, 0, 0, 1]]
        case .pcap:
            [
                [0xD4, 0xC3, 0xB2, 0xA1], [0xA1, 0xB2, 0xC3, 0xD4], [0x4D, 0x3C, 0xB2, 0xA1], [0xA1, 0xB2, 0x3C, 0x4D],
            ]
        case .pcapng: [[0x0A, 0x0D, 0x0D, 0x0A]]
        case .compressed: [[0x1F, 0x8B, 0x08], [0x28, 0xB5, 0x2F, 0xFD]]
        default: []
        }
    guard !magics.isEmpty else { return }
    let magic = magics[Int(variant) % magics.count]
    for index in 0..<min(magic.count, bytes.count) { bytes[index] = magic[index] }
}

extension Target {
    /// Whether `format` is this target's; absent where nothing could be read.
    fileprivate func reads(_ format: CaptureFormat?) -> Bool {
        switch (self, format) {
        case (.hcidump, .hcidump), (.log, .advertisementLog): true
        case (.hcidump, _), (.log, _): false
        default: true
        }
    }
}
