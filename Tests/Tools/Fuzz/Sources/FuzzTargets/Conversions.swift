import BaseTypes
import BluetoothLE
import Captures
internal import Glibc

/// Checks conversions of a capture into each format that can be written. The result must be undamaged, and must have
/// the iBeacons of the capture.
///
/// The highest bits of the second byte of `input` select the names of the fields (``fieldMap(of:)``). The first byte is not used. The capture follows.
/// - Returns: whether libFuzzer should keep the input; true if it can be read as a capture.
func fuzzConversion(_ input: Span<UInt8>) -> Bool {
    guard input.count > 2 else { return false }
    let bytes = bytes(input, from: 2)
    let fields = fieldMap(of: input[1])
    let options = CaptureOptions(fields: fields, windowSize: 4096)
    guard let original = Beacons(.bytes(bytes, name: "input"), options, ofConversion: false) else { return false }
    for format in CaptureWriter.Format.allCases {
        do throws(CaptureError) {
            var reader = try CaptureReader(.bytes(bytes, name: "input"), options: options)
            var writer = try CaptureWriter(path: scratch.path, format: format)
            var converter = CaptureConverter(interval: reader.hasTimes ? nil : .microseconds(1))
            try converter.convert(&reader, to: &writer)
            try writer.close()
            precondition(converter.losses.allSatisfy { $0.count > 0 && !$0.description.isEmpty })
            precondition(converter.records == original.records, "not all records were converted")
            try check(original, converter, format)
        } catch {
            print("\(format): \(error)")
            fflush(nil)
            preconditionFailure("a conversion failed, or its result cannot be read")
        }
    }
    return true
}

private func check(
    _ original: Beacons, _ converter: CaptureConverter, _ format: CaptureWriter.Format
) throws(CaptureError) {
    guard let result = Beacons(.path(scratch.path), CaptureOptions(windowSize: 4096), ofConversion: true) else {
        precondition(
            original.list.isEmpty || !converter.losses.isEmpty,
            "\(format): all iBeacons were lost, and no loss was reported")
        return
    }
    precondition(result.damages?.isEmpty ?? true, "\(format): \(String(describing: result.damages))")
    let kinds = converter.losses.map(\.kind)
    // The lists can differ if a record has no time, or if the conversion truncated times, skipped reports of adapters
    // beyond the maximum, or renamed adapters.
    guard original.areAllTimed, !kinds.contains(.fractionsOfMicroseconds), !kinds.contains(.reportsWithoutAdapter),
        !kinds.contains(.adapterNames)
    else { return }
    guard original.list == result.list else {
        print("\(format), with losses \(converter.losses): \(original.list)\nbecame \(result.list)")
        fflush(nil)
        preconditionFailure("a conversion changed the iBeacons")
    }
}

/// The iBeacons of a capture, the number of its records, and its damages.
private struct Beacons: ReportHandler {
    struct Item: Hashable {
        var beacon: IBeacon
        var rssi: RSSI?
        var address: DeviceAddress?
        var adapter: String?
        var time: Instant?
    }

    var records = 0
    var list: [Item] = []
    var areAllTimed = true
    var damages: CaptureDamages?
    private var adapters: [String] = []

    init?(_ input: CaptureInput, _ options: CaptureOptions, ofConversion: Bool) {
        do throws(CaptureError) {
            var reader = try CaptureReader(input, options: options)
            var decoder = ReportDecoder()
            while let record = try reader.next() {
                records += 1
                if record.time == nil { areAllTimed = false }
                adapters = reader.adapters
                decoder.decode(record, in: reader.window.span, to: &self)
            }
            decoder.flush(to: &self)
            damages = reader.damages
        } catch {
            // A log without records is empty, and a btsnoop file without records has only a header. Neither is an error
            // if a conversion wrote it. The input of the fuzzer can be anything.
            if ofConversion, case .empty = error { return nil }
            if ofConversion {
                print("\(error)")
                fflush(nil)
                preconditionFailure("the result of a conversion cannot be read")
            }
            return nil
        }
    }

    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {}

    mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {
        list.append(
            Item(
                beacon: beacon, rssi: report.rssi, address: report.address, adapter: adapter.map { adapters[$0] },
                time: time))
    }
}

/// A file in memory, without a name. It is removed when the process ends.
private let scratch: (descriptor: CInt, path: String) = {
    var name = "/dev/shm/converted-XXXXXX".utf8CString.map { $0 }
    let descriptor = unsafe mkstemp(&name)
    precondition(descriptor >= 0, "cannot create a file in /dev/shm: errno \(errno)")
    _ = unsafe unlink(name)
    return (descriptor, "/proc/self/fd/\(descriptor)")
}()
