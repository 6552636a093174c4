/// A format that is recognised but not read, with the next command to type.
public struct UnsupportedFormat: Sendable {
    /// The name of the format, with an article: "a zip archive".
    public let name: String
    /// The reason or the next step, as a sentence that ends with the command.
    private let advice: String
    /// A shell command, with FILE for the path of the input.
    private let command: String
    /// Whether the command accepts a compressed file.
    private let decompresses: Bool
    /// The command that prints the decompressed bytes of the input; `nil` if it is not compressed.
    public internal(set) var decompressor: String?
    /// Whether an input starts with these bytes.
    private let isBinary: @Sendable (ArraySlice<UInt8>) -> Bool
    /// The fixed parts of a JSON object in this format, with one value between two of them.
    private let objects: [[String]]
    /// Whether a line without escape sequences and outer blanks belongs to this format.
    private let isLine: @Sendable (Substring) -> Bool

    private init(
        _ name: String, _ advice: String, _ command: String, decompresses: Bool = false,
        isBinary: @escaping @Sendable (ArraySlice<UInt8>) -> Bool = { _ in false }, objects: [[String]] = [],
        isLine: @escaping @Sendable (Substring) -> Bool = { _ in false }
    ) {
        (self.name, self.advice, self.command, self.decompresses) = (name, advice, command, decompresses)
        (self.isBinary, self.objects, self.isLine) = (isBinary, objects, isLine)
    }

    /// All formats, in the order in which they are checked.
    public static let all = [
        zipArchive, tarArchive, utf16, utf16LittleEndian, utf16BigEndian, eventLines, eventMessages, receivedMessages,
        reportTable, androidBugReport, btmonText, hcidumpText, bluetoothctlText, lescanText,
    ]

    /// A zip archive, such as the bug report of an Android phone: a local file header, the end of an empty archive, or
    /// the marker of a split one (APPNOTE.TXT §4.3 and §8.5).
    public static let zipArchive = UnsupportedFormat(
        "a zip archive", "Unpack the capture; that of an Android bug report with",
        "unzip -p FILE '*/btsnoop_hci.log' > capture.btsnoop",
        isBinary: { bytes in
            [[0x03, 0x04], [0x05, 0x06], [0x07, 0x08]].contains { bytes.starts(with: [0x50, 0x4B] + $0) }
        })

    /// A tar archive (POSIX.1-2017, pax, "ustar Interchange Format").
    public static let tarArchive = UnsupportedFormat(
        "a tar archive", "Unpack the capture with", "tar -xvf FILE", decompresses: true,
        isBinary: { $0.dropFirst(257).starts(with: "ustar".utf8) })

    /// Text in UTF-16 with a byte order mark (RFC 2781 §3.2), which is not that of UTF-32.
    public static let utf16 = UnsupportedFormat(
        "text in UTF-16", "Convert it with", "iconv -f UTF-16 -t UTF-8 FILE > utf8.txt",
        isBinary: { bytes in
            bytes.starts(with: [0xFF, 0xFE]) && !bytes.dropFirst(2).starts(with: [0, 0])
                || bytes.starts(with: [0xFE, 0xFF])
        })

    /// Text in UTF-16 without a byte order mark, in little-endian order.
    public static let utf16LittleEndian = UnsupportedFormat(
        "text in UTF-16", "Convert it with", "iconv -f UTF-16LE -t UTF-8 FILE > utf8.txt",
        isBinary: { isUTF16($0, highByte: 1) })

    /// Text in UTF-16 without a byte order mark, in big-endian order.
    public static let utf16BigEndian = UnsupportedFormat(
        "text in UTF-16", "Convert it with", "iconv -f UTF-16BE -t UTF-8 FILE > utf8.txt",
        isBinary: { isUTF16($0, highByte: 0) })

    /// The lines that a gateway writes. They are events, not advertisements.
    public static let eventLines = UnsupportedFormat(
        "an event file of a gateway", "It has no advertisements. List its visits with", "beacon-gateway visits FILE",
        objects: [
            [
                "{\"topic\":\"", "\",\"qos\":", ",\"retain\":", ",\"payload\":{\"version\":", ",\"type\":\"",
                "\",\"gateway\":\"",
            ],
            ["{\"version\":", ",\"type\":\"evidence\",\"gateway\":\""],
        ])

    /// The messages that a gateway publishes: lines without their envelopes, as mosquitto_sub(1) prints them, also with
    /// `-v`.
    public static let eventMessages = UnsupportedFormat(
        "a file of messages of a gateway",
        "They are events, not advertisements. Add the envelopes of an event file, and list its visits, with",
        """
        sed 's/^[^{]*//' FILE | jq -c '{topic: "", qos: 1, retain: false, payload: .}' > events.jsonl && \
        beacon-gateway visits events.jsonl
        """, objects: [["{\"version\":", ",\"type\":\"", "\",\"gateway\":\""]])

    /// The messages that a gateway publishes, as mosquitto_sub(1) prints them with `-F %j` or `-F %J`.
    public static let receivedMessages = UnsupportedFormat(
        "a file of messages of a gateway with topics",
        "They are events, not advertisements. Make an event file, and list its visits, with",
        """
        jq -c '{topic, qos, retain: false, payload: (.payload | fromjson? // .)}' FILE > events.jsonl && \
        beacon-gateway visits events.jsonl
        """,
        objects: [["\"{\\\"version\\\":", ",\\\"type\\\":\\\""], ["{\"version\":", ",\"type\":\""]].map { payload in
            [
                "{\"tst\":\"", "\",\"topic\":\"", "\",\"qos\":", ",\"retain\":", ",\"payloadlen\":",
                ",\"payload\":" + payload[0], payload[1],
            ]
        })

    /// A table that a gateway writes. A visit in it has a UUID, but is not an advertisement.
    public static let reportTable = UnsupportedFormat(
        "a report of a gateway in CSV", "It has no advertisements. Record them with",
        "sudo beacon-gateway record capture.btsnoop",
        isLine: { line in
            ["monitor,identifier,uuid,major,minor,arrival,", "from,to,scope,name,"].contains { line.hasPrefix($0) }
        })

    /// The text of an Android bug report, which can contain a compressed log (AOSP, `btsnooz.py`).
    public static let androidBugReport = UnsupportedFormat(
        "the text of an Android bug report", "Extract its Bluetooth log with the script of Android's source code",
        "btsnooz.py FILE > capture.btsnoop",
        isLine: { line in
            ["== dumpstate: ", "DUMP OF SERVICE bluetooth_manager", "Bluetooth Status"].contains { line.hasPrefix($0) }
                || line.contains("BEGIN:BTSNOOP_LOG_SUMMARY")
        })

    /// The text that btmon(1) prints.
    public static let btmonText = UnsupportedFormat(
        "the text of btmon", "It lacks the bytes of the advertisements. Record them with",
        "sudo btmon -w capture.btsnoop",
        isLine: { line in
            line.hasPrefix("Bluetooth monitor ver ")
                || hasPlace(line) && btmonWords.contains { line.contains($0) }
        })

    /// The text of hcidump(1) without `--raw`.
    public static let hcidumpText = UnsupportedFormat(
        "the text of hcidump without --raw", "It lacks the bytes of the advertisements. Record them with",
        "sudo hcidump -w capture.btsnoop",
        isLine: { line in !hasPlace(line) && packetWords.contains { line.contains($0) } })

    /// The text of bluetoothctl(1) or btmgmt(1).
    public static let bluetoothctlText = UnsupportedFormat(
        "the text of bluetoothctl or btmgmt", "It lacks the bytes of most advertisements. Record them with",
        "sudo beacon-gateway record capture.btsnoop",
        isLine: { line in
            bluetoothctlWords.contains { line.hasPrefix($0) }
                || ["Device ", "Controller "].contains {
                    line.hasPrefix($0) && startsWithAddress(line.dropFirst($0.count))
                }
                || line.hasPrefix("hci") && line.contains(" dev_found: ")
        })

    /// The text of `hcitool lescan`.
    public static let lescanText = UnsupportedFormat(
        "the text of hcitool lescan", "It lacks the bytes of the advertisements. Record them with",
        "sudo beacon-gateway record capture.btsnoop",
        isLine: { $0 == "LE Scan ..." || startsWithAddress($0) && $0.hasSuffix(" (unknown)") })

    /// The maximum number of bytes in which a format is recognised.
    static var lookahead: Int { 4096 }

    /// Returns the format of an input that is not text in UTF-8, if it is in the table.
    ///
    /// - Parameter firstBytes: the first bytes of the input; 16 suffice for all formats but tar, which needs 262.
    init?(firstBytes: ArraySlice<UInt8>) {
        guard let found = Self.all.first(where: { $0.isBinary(firstBytes) }) else { return nil }
        self = found
    }

    /// Returns the format that has such a line, if it is in the table.
    init?(line: ArraySlice<UInt8>) {
        let text = Self.plain(line)
        guard let found = Self.all.first(where: { $0.isLine(text) }) else { return nil }
        self = found
    }

    /// The result of ``object(_:)``.
    enum ObjectMatch {
        case found(UnsupportedFormat)
        case none
        /// More bytes are necessary for a decision.
        case undecided
    }

    /// Returns the format of a JSON object with these first bytes.
    static func object(_ bytes: ArraySlice<UInt8>) -> ObjectMatch {
        for format in all {
            for parts in format.objects {
                switch matches(bytes, parts) {
                case true: return .found(format)
                case nil: return .undecided
                default: break
                }
            }
        }
        return .none
    }

    /// Returns whether the bytes have these parts with one value between two of them; `nil` if there are too few bytes.
    private static func matches(_ bytes: ArraySlice<UInt8>, _ parts: [String]) -> Bool? {
        var rest = bytes
        for (index, part) in parts.enumerated() {
            let part = Array(part.utf8)
            var isEscaped = false
            while index > 0, let byte = rest.first, isEscaped || byte != part[0] {
                guard byte >= 0x20 else { return false }
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                rest.removeFirst()
            }
            let found = rest.prefix(part.count)
            guard part.starts(with: found) else { return false }
            if found.count < part.count { return nil }
            rest.removeFirst(part.count)
        }
        return true
    }

    /// Returns the format, the advice and the next command for the input `path`, such as `a tar archive, which is not
    /// read. Unpack the capture with: tar -xvf logs.tar`.
    func description(of path: String) -> String {
        var file = path == CaptureInput.standardInput.name ? "FILE" : Self.shellWord(path)
        let words = command.split(separator: " ", omittingEmptySubsequences: false)
        var first = ""
        if let decompressor, !decompresses, words.contains("FILE") {
            first = "\(decompressor) \(file) > decompressed && "
            file = "decompressed"
        }
        let rest = words.map { $0 == "FILE" ? file : String($0) }.joined(separator: " ")
        return "\(name), which is not read. \(advice): \(first)\(rest)"
    }

    /// Returns whether a line ends with the number or the adapter of a packet, as those of btmon do.
    private static func hasPlace(_ line: Substring) -> Bool { line.contains(" #") || line.contains(" [hci") }

    /// Returns whether at least six of the first eight characters, or all but two if there are fewer, are ASCII in
    /// UTF-16 whose high bytes have an even (0) or odd (1) offset.
    private static func isUTF16(_ bytes: ArraySlice<UInt8>, highByte: Int) -> Bool {
        let first = Array(bytes.prefix(16))
        let units = first.count / 2
        let ascii = (0..<units).count {
            first[2 * $0 + highByte] == 0 && 0x09..<0x7F ~= first[2 * $0 + 1 - highByte]
        }
        return units >= 2 && ascii >= max(2, units - 2)
    }

    /// Packets and their direction, as hcidump and btmon print them (BlueZ, `tools/parser/hci.c`, `monitor/packet.c`).
    private static let packetWords = ["> ", "< "].flatMap { arrow in
        ["HCI Event: ", "HCI Command: ", "ACL data: ", "SCO data: ", "ACL Data ", "SCO Data ", "ISO Data "].map {
            arrow + $0
        }
    }
    private static let btmonWords = packetWords + ["= Note: ", "= New Index: ", "= Open Index: ", "@ MGMT ", "@ RAW "]
    private static let bluetoothctlWords =
        ["NEW", "CHG", "DEL"].flatMap { ["[\($0)] Device ", "[\($0)] Controller "] }
        + ["[bluetooth]#", "[bluetoothctl]>", "Discovery started", "Agent registered", "SetDiscoveryFilter success"]

    private static func startsWithAddress(_ line: Substring) -> Bool {
        let characters = Array(line.prefix(18))
        return characters.count == 18 && characters[17] == " "
            && characters.prefix(17).enumerated().allSatisfy { index, character in
                index % 3 == 2 ? character == ":" : character.isHexDigit
            }
    }

    /// Returns the text of a line without escape sequences of terminals (ECMA-48 §5.4) and outer blanks.
    private static func plain(_ line: ArraySlice<UInt8>) -> Substring {
        var bytes: [UInt8] = []
        var isEscaped = false
        for (index, byte) in zip(line.indices, line) {
            if byte == 0x1B {
                isEscaped = true
            } else if isEscaped {
                // "[", parameters, and a final byte from "@" on.
                isEscaped = byte < 0x40 || byte == UInt8(ascii: "[") && line[index - 1] == 0x1B
            } else if byte != 0x01, byte != 0x02, byte != 0x0D {
                bytes.append(byte)
            }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let last = text.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return text[...last].drop { $0 == " " || $0 == "\t" }
    }

    /// Returns a path as a word of a shell.
    private static func shellWord(_ path: String) -> String {
        let isPlain = path.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B...0x2F, 0x3A, 0x3D, 0x40, 0x5F, 0x80...0xFF: true
            default: false
            }
        }
        // A path that starts with a hyphen would be an option, and one with a colon in its first part a host for tar.
        let isAmbiguous = path.hasPrefix("-") || path.prefix { $0 != "/" }.contains(":")
        let path = isAmbiguous ? "./\(path)" : path
        return isPlain
            ? path : "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}

extension UnsupportedFormat: Hashable {
    /// Returns whether two values are the same format, compressed in the same way.
    public static func == (left: UnsupportedFormat, right: UnsupportedFormat) -> Bool {
        left.name == right.name && left.command == right.command && left.decompressor == right.decompressor
    }

    /// Adds the format to a hash.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
