extension CaptureReader {
    /// Finds out what the bytes are by how they begin.
    mutating func recogniseFormat() throws(CaptureError) {
        _ = try has(16)
        guard tail > head else {
            if let problem = source.problem { throw .inflationFailed(path: name, problem) }
            throw .empty(path: name)
        }
        if begins(with: Btsnoop.magic) { return try openBtsnoop() }
        try skipLeadingBlanks()
        guard tail > head else { throw .empty(path: name) }
        if window[head] == UInt8(ascii: "{") {
            layout = .log
            format = .advertisementLog
            return
        }
        throw .unrecognised(path: name, beginning: beginning())
    }

    func begins(with magic: [UInt8]) -> Bool {
        guard tail - head >= magic.count else { return false }
        for index in magic.indices where window[head + index] != magic[index] { return false }
        return true
    }

    /// Steps over blanks and a byte order mark before a text.
    private mutating func skipLeadingBlanks() throws(CaptureError) {
        if begins(with: [0xEF, 0xBB, 0xBF]) { head += 3 }
        while try has(1), LogScanner.isBlank(window[head]) { head += 1 }
    }

    private func beginning() -> String {
        let digits = Array("0123456789ABCDEF")
        var text = ""
        for index in head..<min(head + 8, tail) {
            text +=
                (text.isEmpty ? "" : " ") + String([digits[Int(window[index] >> 4)], digits[Int(window[index] & 15)]])
        }
        return text
    }
}
