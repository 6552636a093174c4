public import BluetoothLE

extension ReportDecoder {
    /// Passes the reports of `record` to `handler`. Its payload is in `window`.
    ///
    /// If the rest of an extended advertisement did not arrive in time, it is passed first, with the time of its last
    /// fragment.
    @inlinable @inline(__always) public mutating func decode<Handler: ReportHandler & ~Copyable>(
        _ record: CaptureRecord, in window: Span<UInt8>, to handler: inout Handler
    ) {
        switch record.content {
        case .hci(.event, _):
            decode(event: window.extracting(record.payload), adapter: record.adapter, time: record.time, to: &handler)
        case .linkLayer(let rssi, let check):
            decode(
                frame: window.extracting(record.payload), rssi: rssi, check: check, adapter: record.adapter,
                time: record.time, to: &handler)
        case .report(let report):
            hand(report, window.extracting(record.payload), record.adapter, record.time, to: &handler)
        case .beacon(let beacon, let report):
            handler.report(report, data: Span(), adapter: record.adapter, time: record.time)
            handler.beacon(beacon, report: report, adapter: record.adapter, time: record.time)
        case .hci, .listening, .stopped, .monitor, .timeOnly:
            break
        }
    }
}
