import BaseTypes
import BluetoothLE
import Captures
internal import Glibc

/// One capture, taken over into each format that is written; the second octet says whose log it is.
///
/// What was written is whole, and gives the iBeacons that the capture gave.
func fuzzConversion(_ input: Span<UInt8>) -> Bool {
    guard input.count > 2 else { return false }
    let bytes = octets(input, from: 2)
    let fields = input[1] & 0x80 != 0 ? otherFields : FieldMap()
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
            precondition(converter.records == original.records, "records that were not converted")
            try check(original, converter, format)
        } catch {
            print("\(format): \(error)")
            fflush(nil)
            preconditionFailure("a conversion that can't be made or read")
        }
    }
    return true
}

private func check(
    _ original: Beacons, _ converter: CaptureConverter, _ format: CaptureWriter.Format
) throws(CaptureError) {
    guard let result = Beacons(.path(scratch.path), CaptureOptions(windowSize: 4096), ofConversion: true) else {
        precondition(original.list.isEmpty || !converter.losses.isEmpty, "\(format): nothing can be read")
        return
    }
    precondition(result.damages?.isEmpty ?? true, "\(format): \(String(describing: result.damages))")
    let kinds = converter.losses.map(\.kind)
    // Without these the capture's own times and adapters hold.
    guard original.areAllTimed, !kinds.contains(.fractionsOfMicroseconds), !kinds.contains(.reportsWithoutAdapter),
        !kinds.contains(.adapterNames)
    else { return }
    guard original.list == result.list else {
        print("\(format), losing \(converter.losses): \(original.list)\nbecame \(result.list)")
        fflush(nil)
        preconditionFailure("a conversion changed the iBeacons")
    }
}

/// The iBeacons of a capture.
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
            // A log or btsnoop without a record is empty or has a header alone; the input may be anything.
            if ofConversion, case .empty = error { return nil }
            if ofConversion {
                print("\(error)")
                fflush(nil)
                preconditionFailure("a conversion that can't be read")
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

/// A file in memory alone, without a name: it goes with the process.
private let scratch: (descriptor: CInt, path: String) = {
    var name = "/dev/shm/converted-XXXXXX".utf8CString.map { $0 }
    let descriptor = unsafe mkstemp(&name)
    precondition(descriptor >= 0, "no file in memory: errno \(errno)")
    _ = unsafe unlink(name)
    return (descriptor, "/proc/self/fd/\(descriptor)")
}()
