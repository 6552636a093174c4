import BaseTypes
import BluetoothLE
import Captures
import Foundation
import TestSupport
import Testing

/// The paths and contents of the captures in Tests/Fixtures.
enum Fixtures {
    static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    static let captures = tests.appendingPathComponent("Fixtures/captures")

    static func path(_ name: String) -> String { captures.appendingPathComponent(name).path }
    static func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: captures.appendingPathComponent(name)))
    }
    static func lines(_ name: String) throws -> [String] {
        String(decoding: try bytes(name), as: UTF8.self).split(separator: "\n").map(String.init)
    }
}

/// The content of a capture, in a form that can be compared.
struct Contents: Equatable {
    /// A record: its time, adapter and content as numbers, and its payload.
    struct Record: Equatable {
        var numbers: [Int64]
        var payload: [UInt8]
    }

    var records: [Record] = []
    /// The sightings in the format of `*.expected.jsonl`.
    var sightings: [String] = []
    var reports = 0
    var adapters: [String] = []
    var damages: [CaptureDamage] = []
    var damageTotal = 0
    var malformations: [Malformation: Int] = [:]
    var skipped: SkippedPackets?
    var zeroBytes = 0
}

/// Returns the content of a record as numbers, without the positions of its bytes.
func numbers(_ content: CaptureRecord.Content) -> [Int64] {
    func of(_ report: AdvertisingReport) -> [Int64] {
        let address = report.address.map { Int64($0.value) << 8 | Int64($0.kind.rawValue) } ?? -1
        return [
            address, Int64(report.rssi?.dBm ?? 127), Int64(report.properties.rawValue), Int64(report.status.rawValue),
        ]
    }
    switch content {
    case .hci(let kind, let isReceived): return [0, Int64(kind.rawValue), isReceived ? 1 : 0]
    case .linkLayer(let rssi, let check): return [1, Int64(rssi?.dBm ?? 127), Int64(check.rawValue)]
    case .report(let report): return [2] + of(report)
    case .beacon(let beacon, let report):
        let uuid = beacon.identity.uuid
        return [
            3, Int64(bitPattern: uuid.high), Int64(bitPattern: uuid.low), Int64(beacon.identity.major),
            Int64(beacon.identity.minor), Int64(beacon.measuredPower ?? -128),
        ] + of(report)
    case .listening(let listens): return [4, listens ? 1 : 0]
    case .stopped(let since): return [4, 0, since.nanoseconds]
    case .monitor(let opcode): return [5, Int64(opcode)]
    case .timeOnly: return [6]
    }
}

struct Collector: ReportHandler {
    var sightings: [String] = []
    var reports = 0

    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {
        reports += 1
    }

    mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {
        var line = "{"
        if let time { line += "\"t\":\(decimal(time.nanoseconds))," }
        line +=
            "\"uuid\":\"\(beacon.identity.uuid)\",\"major\":\(beacon.identity.major),\"minor\":\(beacon.identity.minor)"
        if let power = beacon.measuredPower { line += ",\"measuredPower\":\(power)" }
        line += ",\"rssi\":\(report.rssi.map { "\($0.dBm)" } ?? "null")"
        line += ",\"address\":\(report.address.map { "\"\($0)\"" } ?? "null")}"
        sightings.append(line)
    }
}

/// Returns seconds with six decimals, or with nine if the time is not a whole number of microseconds.
func decimal(_ nanoseconds: Int64) -> String {
    let fraction = String(nanoseconds % 1_000_000_000 + 1_000_000_000).dropFirst()
    let fine = fraction.suffix(3)
    return "\(nanoseconds / 1_000_000_000).\(fraction.prefix(6))" + (fine == "000" ? "" : fine)
}

func contents(
    _ input: CaptureInput, options: CaptureOptions = CaptureOptions(), keepsRecords: Bool = true
) throws(CaptureError) -> Contents {
    var reader = try CaptureReader(input, options: options)
    var decoder = ReportDecoder()
    var collector = Collector()
    var result = Contents()
    while let record = try reader.next() {
        if keepsRecords {
            result.records.append(
                Contents.Record(
                    numbers: [record.time?.nanoseconds ?? -1, Int64(record.adapter ?? -1)] + numbers(record.content),
                    payload: Array(reader.window[record.payload])))
        }
        decoder.decode(record, in: reader.window.span, to: &collector)
    }
    decoder.flush(to: &collector)
    result.sightings = collector.sightings
    result.reports = collector.reports
    result.adapters = reader.adapters
    result.damages = reader.damages.first
    result.damageTotal = reader.damages.total
    result.skipped = reader.skippedPackets
    result.zeroBytes = reader.zeroBytes
    for (kind, count) in reader.malformations.occurred + decoder.malformations.occurred {
        result.malformations[kind, default: 0] += count
    }
    return result
}

func contents(_ bytes: [UInt8], options: CaptureOptions = CaptureOptions()) throws(CaptureError) -> Contents {
    try contents(.bytes(bytes, name: "test"), options: options)
}

/// A capture of Tests/Tools/make_capture.py, with its sightings and statistics.
struct Generated {
    static let formats = [
        "btsnoop-h4", "btsnoop-monitor", "pcap-201", "pcap-187", "pcapng-201", "pcap-251", "pcap-256", "pcap-192",
        "pcap-157", "pklg", "pklg-le", "hcidump", "jsonl", "log",
    ]

    var bytes: [UInt8]
    var sightings: [String]
    var statistics: [String: Any]

    init(_ format: String, reports: Int, seed: Int, _ arguments: String...) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "captures-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let out = folder.appendingPathComponent("capture")
        let sightings = folder.appendingPathComponent("sightings")
        let statistics = folder.appendingPathComponent("statistics")
        try execute(
            "/usr/bin/python3",
            [
                Fixtures.tests.appendingPathComponent("Tools/make_capture.py").path, "-o", out.path, "--format", format,
                "-n", "\(reports)", "--seed", "\(seed)", "--sightings", sightings.path, "--stats", statistics.path,
            ] + arguments)
        bytes = [UInt8](try Data(contentsOf: out))
        self.sightings = String(decoding: try Data(contentsOf: sightings), as: UTF8.self).split(separator: "\n")
            .map(String.init)
        self.statistics =
            try JSONSerialization.jsonObject(with: try Data(contentsOf: statistics)) as? [String: Any] ?? [:]
    }
}

struct ToolProblem: Error { var status: Int32 }

func execute(_ tool: String, _ arguments: [String]) throws {
    let status = try SpawnedProcess(tool, arguments).wait()
    guard status == 0 else { throw ToolProblem(status: status) }
}

/// Returns the content of an advertisement log. `fields` is in the syntax of `--fields`.
func logContents(_ text: String, fields: String? = nil, windowSize: Int = 64 * 1024) throws -> Contents {
    try contents(
        .bytes(Array(text.utf8), name: "test"),
        options: CaptureOptions(fields: try fields.map { try FieldMap($0) } ?? FieldMap(), windowSize: windowSize))
}

/// Returns the sightings in short: the time, and the values of the keys, separated by slashes.
func shortSightings(
    _ found: Contents, _ keys: [String] = ["minor", "rssi", "measuredPower"]
) throws -> [String] {
    try found.sightings.map { line in
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        let numbers = keys.map { (object[$0] as? Int).map { "\($0)" } ?? "-" }
        return ((object["t"] as? Double).map { "\($0) " } ?? "") + numbers.joined(separator: "/")
    }
}
