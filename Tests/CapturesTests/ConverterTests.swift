import BaseTypes
import BluetoothLE
import Captures
import Foundation
import Testing

/// A file in a temporary folder, which is deleted when this value is released.
final class Scratch {
    let path: String
    init() { path = FileManager.default.temporaryDirectory.appendingPathComponent("capture-\(UUID().uuidString)").path }
    deinit { try? FileManager.default.removeItem(atPath: path) }
    var bytes: [UInt8] { get throws { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) } }
}

func convert(
    _ bytes: [UInt8], to format: CaptureWriter.Format, interval: Duration? = nil,
    options: CaptureOptions = CaptureOptions()
) throws -> (bytes: [UInt8], losses: [ConversionLoss]) {
    let scratch = Scratch()
    var reader = try CaptureReader(.bytes(bytes, name: "test"), options: options)
    var writer = try CaptureWriter(path: scratch.path, format: format)
    var converter = CaptureConverter(interval: interval)
    try converter.convert(&reader, to: &writer)
    try writer.close()
    return (try scratch.bytes, converter.losses)
}

/// Returns the inputs of an engine from a capture, in order. Each has the latest time so far (rule T2).
func inputs(
    _ bytes: [UInt8], options: CaptureOptions = CaptureOptions(), unit: Int64 = 1, interval: Int64? = nil
) throws -> [String] {
    struct Inputs: ReportHandler {
        var lines: [String] = []
        var now: Int64 = -1
        var names: [String] = []
        var unit: Int64
        mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {
            lines.append("\(now) \(adapter.map { names[$0] } ?? "-") report")
        }
        mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {
            lines.append(
                "\(now) \(adapter.map { names[$0] } ?? "-") \(beacon) \(report.address.map { "\($0) \($0.kind)" } ?? "-") "
                    + "\(report.rssi.map { "\($0.dBm)" } ?? "-")")
        }
    }
    var reader = try CaptureReader(.bytes(bytes, name: "test"), options: options)
    var decoder = ReportDecoder()
    var inputs = Inputs(unit: unit)
    var listening: [String: Bool] = [:]
    var count: Int64 = 0
    while let record = try reader.next() {
        inputs.names = reader.adapters
        let time = (record.time?.nanoseconds ?? count * (interval ?? 0)) / unit * unit
        count += 1
        inputs.now = max(inputs.now, time)
        let name = record.adapter.map { reader.adapters[$0] } ?? "-"
        if record.adapter != nil, listening[name] == nil {
            listening[name] = true
            inputs.lines.append("\(inputs.now) \(name) begins")
        }
        if case .listening(let listens) = record.content, listening[name] != listens {
            listening[name] = listens
            inputs.lines.append("\(inputs.now) \(name) listening \(listens)")
        }
        decoder.decode(record, in: reader.window.span, to: &inputs)
    }
    decoder.flush(to: &inputs)
    inputs.lines.append("\(inputs.now) end")
    return inputs.lines
}

@Suite struct ConverterTests {
    @Test(arguments: Generated.formats, CaptureWriter.Format.allCases)
    func `L4, T2: a converted capture gives the same inputs`(format: String, target: CaptureWriter.Format) throws {
        let capture = try Generated(
            format, reports: 1500, seed: 11, "--per-event", "4", "--bad-crc", "0.2", "--other-events", "0.3"
        ).bytes
        let converted = try convert(capture, to: target)
        #expect(try inputs(converted.bytes) == inputs(capture))
    }

    @Test(arguments: RealCaptureTests.captures, CaptureWriter.Format.allCases)
    func `L4, T2: a converted real capture gives the same inputs`(name: String, target: CaptureWriter.Format) throws {
        let capture = try Fixtures.bytes(name)
        let isTimeless = name.hasPrefix("hcidump")
        let converted = try convert(capture, to: target, interval: isTimeless ? .milliseconds(100) : nil)
        // btsnoop cannot store the nanoseconds of sniffers and the names of their adapters.
        func unnamed(_ lines: [String]) -> [String] {
            target != .btsnoop ? lines : lines.map { $0.replacing("wireshark_extcap3300", with: "adp0") }
        }
        let unit: Int64 = target == .btsnoop ? 1000 : 1
        let found = try inputs(converted.bytes)
        let expected = unnamed(try inputs(capture, unit: unit, interval: 100_000_000))
        #expect(found.count == expected.count)
        for (found, expected) in zip(found, expected) where found != expected {
            Issue.record("\(found) instead of \(expected)")
            break
        }
    }

    @Test(arguments: CaptureWriter.Format.allCases, CaptureWriter.Format.allCases)
    func `a second round of conversions changes no byte`(first: CaptureWriter.Format, second: CaptureWriter.Format)
        throws
    {
        let capture = try Generated("btsnoop-monitor", reports: 300, seed: 4, "--other-events", "0.3").bytes
        let once = try convert(try convert(capture, to: first).bytes, to: second).bytes
        let twice = try convert(try convert(once, to: first).bytes, to: second).bytes
        #expect(once == twice)
    }

    @Test func `L4: every format keeps stretches without scanning, short names of adapters and the order`() throws {
        let log = #"""
            {"time":100.5,"adapter":"a","listening":false}
            {"time":101,"adapter":"lobby","address":"C0:98:E5:00:00:07","addressType":"random","rssi":-61,"data":"1AFF4C000215F7826DA64FA24E988024BC5B71E0893E00640007C5"}
            {"time":109,"adapter":"hci7"}
            {"time":102,"adapter":"lobby","uuid":"F7826DA64FA24E988024BC5B71E0893E","major":1,"minor":2,"measuredPower":-59}
            {"time":110,"adapter":"a","listening":true}
            {"time":110,"adapter":"lobby","listening":false}
            {"time":111,"adapter":"a","rssi":127,"address":"C0:98:E5:00:00:07","data":""}
            {"time":112,"adapter":"a"}
            """#
        for target in CaptureWriter.Format.allCases {
            let converted = try convert(Array(log.utf8), to: target)
            #expect(try inputs(converted.bytes) == inputs(Array(log.utf8)), "\(target)")
            // The first record of adapter a says that it does not scan.
            let kinds: [ConversionLoss.Kind] = target == .advertisementLog ? [] : [.silentBeginnings]
            #expect(converted.losses.map(\.kind) == kinds, "\(target)")
        }
    }

    @Test func `a beacon without measured power has none after conversions to every format and back`() throws {
        let log = Array(
            #"""
            {"time":101,"adapter":"hci0","address":"C0:98:E5:00:00:07","addressType":"random","rssi":-61,"uuid":"F7826DA64FA24E988024BC5B71E0893E","major":100,"minor":7}
            {"time":102,"adapter":"hci0","uuid":"F7826DA64FA24E988024BC5B71E0893E","major":1,"minor":2,"measuredPower":-128}
            {"time":103,"adapter":"hci0","uuid":"F7826DA64FA24E988024BC5B71E0893E","major":1,"minor":2,"measuredPower":-127}
            """#.utf8)
        let sightings = try contents(log).sightings
        #expect(sightings.map { $0.contains("measuredPower") } == [false, false, true])
        for target in CaptureWriter.Format.allCases {
            let converted = try convert(log, to: target).bytes
            #expect(try contents(converted).sightings == sightings, "\(target)")
            let again = try convert(converted, to: .advertisementLog).bytes
            #expect(try contents(again).sightings == sightings, "\(target)")
            #expect(try inputs(again) == inputs(log), "\(target)")
        }
        // A log keeps the form of its records.
        #expect(String(decoding: try convert(log, to: .advertisementLog).bytes, as: UTF8.self).contains(#""minor":7}"#))
    }

    @Test func `L4: adapters that do not scan at their first record are reported as a loss`() throws {
        let log = #"""
            {"time":1,"adapter":"hci0","adapterAddress":"00:AA:01:00:00:01","data":"00"}
            {"time":2,"adapter":"hci0","adapterAddress":"00:AA:01:00:00:01","listening":false}
            {"time":3,"adapter":"hci1","adapterAddress":"00:AA:01:00:00:01","listening":false}
            {"time":4,"adapter":"hci2","listening":false}
            """#
        for format in [CaptureWriter.Format.btsnoop, .pcapng] {
            // The adapter at 3 s is the same one as hci0, because it has its address.
            let losses = try convert(Array(log.utf8), to: format).losses
            #expect(
                losses.map(\.description) == [
                    "1 adapter does not scan at its first record; in a replay of the result, it can be scanning then"
                ])
        }
        #expect(try convert(Array(log.utf8), to: .advertisementLog).losses == [])
    }

    @Test func `data that btsnoop cannot store are reported with their number`() throws {
        let log = #"""
            {"time":"2026-11-21T07:46:27.123456789Z","adapter":"conference room","data":"00"}
            {"time":"2026-11-21T07:46:28.123456Z","adapter":"conference hall","data":"00"}
            """#
        let converted = try convert(Array(log.utf8), to: .btsnoop)
        #expect(converted.losses.map(\.kind) == [.fractionsOfMicroseconds, .adapterNames])
        #expect(converted.losses.map(\.count) == [1, 2])
        #expect(try contents(converted.bytes).adapters.count == 2)
        let whole = try convert(Array(log.utf8), to: .pcapng)
        #expect(whole.losses == [])
        #expect(try inputs(whole.bytes) == inputs(Array(log.utf8)))
    }

    @Test func `packets without reports, which the log cannot store, are counted as a loss`() throws {
        let capture = try Generated("btsnoop-h4", reports: 100, seed: 2, "--other-events", "0.5")
        let others = try #require(capture.statistics["otherEvents"] as? Int)
        let losses = try convert(capture.bytes, to: .advertisementLog).losses
        #expect(losses.first { $0.kind == .packets }?.count == others)
        #expect(losses.first { $0.kind == .advertisingKinds }?.count == 100)
    }

    @Test func `long advertising data are written in fragments and read as one report`() throws {
        let data = String(repeating: "02FFAA", count: 500) + "1AFF4C000215F7826DA64FA24E988024BC5B71E0893E00640007C5"
        let log = Array(#"{"time":5,"adapter":"hci0","data":"\#(data)"}"#.utf8)
        for target in CaptureWriter.Format.allCases {
            let back = try contents(try convert(log, to: target).bytes)
            #expect(back.reports == 1)
            #expect(back.sightings.count == 1, "\(target)")
            #expect(back.malformations == [:])
        }
    }

    @Test func `a capture without times needs an interval, and starts at 0`() throws {
        let capture = try Fixtures.bytes("hcidump-gimbal.raw")
        #expect(throws: CaptureError.timesAbsent(path: "test")) { try convert(capture, to: .btsnoop) }
        let converted = try convert(capture, to: .pcapng, interval: .milliseconds(100))
        var reader = try CaptureReader(.bytes(converted.bytes, name: "converted"))
        var times: [Int64] = []
        while let record = try reader.next() {
            if case .hci = record.content { times.append(record.time?.nanoseconds ?? -1) }
        }
        #expect(times == (0..<242).map { Int64($0) * 100_000_000 })
    }

    @Test func `if a file cannot be created or written, the error has its path`() throws {
        #expect {
            _ = try CaptureWriter(path: "/nonexistent/x", format: .btsnoop).close()
        } throws: { error in
            if case CaptureError.createFailed("/nonexistent/x", _) = error { true } else { false }
        }
        #expect {
            var writer = try CaptureWriter(path: "/dev/full", format: .btsnoop)
            try writer.write(listening: true, adapter: "hci0", time: .earliest)
            try writer.close()
        } throws: { error in
            if case CaptureError.writeFailed("/dev/full", _) = error { true } else { false }
        }
    }
}
