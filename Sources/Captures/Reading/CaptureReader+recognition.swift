import JSON

extension CaptureReader {
    /// Finds out what the bytes are by how they begin.
    mutating func recogniseFormat() throws(CaptureError) {
        _ = try has(16)
        guard tail > head else {
            if let problem = source.problem { throw .inflationFailed(path: name, problem) }
            throw .empty(path: name)
        }
        if begins(with: Btsnoop.magic) { return try openBtsnoop() }
        if tail - head >= 4 {
            let number = load(head, as: UInt32.self)
            switch number {
            case PcapState.microsecondMagic, PcapState.nanosecondMagic, PcapState.microsecondMagic.byteSwapped,
                PcapState.nanosecondMagic.byteSwapped:
                return try openPcap()
            case PcapngState.sectionHeader: return openPcapng()
            default: break
            }
        }
        try skipLeadingBlanks()
        guard tail > head else { throw .empty(path: name) }
        if window[head] == UInt8(ascii: "{") {
            layout = .log
            format = .advertisementLog
            return
        }
        if try isHcidump() {
            layout = .hcidump
            format = .hcidump
            return
        }
        throw .unrecognised(path: name, beginning: beginning())
    }

    mutating func begins(with magic: [UInt8]) -> Bool {
        guard tail - head >= magic.count else { return false }
        for index in magic.indices where window[head + index] != magic[index] { return false }
        return true
    }

    /// Steps over blanks and a byte order mark before a text.
    private mutating func skipLeadingBlanks() throws(CaptureError) {
        if begins(with: [0xEF, 0xBB, 0xBF]) { head += 3 }
        while try has(1), JSONScanner.isSpace(window[head]) {
            if window[head] == 0x0A { line += 1 }
            head += 1
        }
    }

    /// Whether the text at the head is hcidump's: its heading, an arrow, or a time with an arrow behind it.
    private mutating func isHcidump() throws(CaptureError) -> Bool {
        _ = try has(64)
        let line = window[head..<min(head + 64, tail)].prefix { $0 != 0x0A }
        if line.starts(with: Array("HCI sniffer".utf8)) || line.starts(with: Array("device: ".utf8)) { return true }
        // Before the arrow stand at most digits and what separates them.
        guard let arrow = line.firstIndex(where: { $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "<") }) else {
            return false
        }
        return line[..<arrow].allSatisfy { 0x30...0x3A ~= $0 || $0 == 0x20 || $0 == 0x2D || $0 == 0x2E }
            && (arrow + 1 == line.endIndex || line[arrow + 1] == 0x20)
    }

    private mutating func beginning() -> String {
        let digits = Array("0123456789ABCDEF")
        var text = ""
        for index in head..<min(head + 8, tail) {
            text +=
                (text.isEmpty ? "" : " ") + String([digits[Int(window[index] >> 4)], digits[Int(window[index] & 15)]])
        }
        return text
    }
}
