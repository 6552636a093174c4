import BaseTypes
import BluetoothLE

/// Checks the parser of HCI events and the assembler of extended reports with a series of events over time.
///
/// Each event follows two bytes. The low seven bits of the first are the time since the previous event in units of 20
/// ms; the maximum is long enough that chains are abandoned. Its high bit selects one of two adapters. If the first
/// byte is 0xFF, the chains of its adapter are also flushed. The second byte is the length of the event. If fewer bytes
/// follow, the event ends with the input.
func fuzzEvents(_ input: Span<UInt8>) {
    var assembler = ExtendedReportAssembler()
    var time = Instant.earliest
    var data: [UInt8] = []
    var index = 0
    while input.count - index >= 2 {
        let adapter = Int(input[index] >> 7)
        time = time + .milliseconds(20 * Int(input[index] & 0x7F))
        let start = index + 2
        let end = min(start + Int(input[index + 1]), input.count)
        index = end
        let event = input.extracting(start..<end)
        assembler.expire(at: time)
        if input[start - 2] == 0xFF { assembler.flush(adapter: adapter) }
        var reports = AdvertisingReports(event: event)
        do {
            while let report = try reports.next(in: event) {
                precondition(report.data.upperBound <= event.count)
                let isWhole = assembler.take(report, adapter: adapter, time: time, of: event)
                precondition(!isWhole || !assembler.isIdle || assembler.nextReady(into: &data) == nil)
                if isWhole { checkStructures(event.extracting(report.data)) }
                drain(&assembler, into: &data)
            }
        } catch {
            precondition(!error.description.isEmpty)
        }
        do {
            let more = try reports.next(in: event)
            precondition(more == nil, "a report follows the end")
        } catch { preconditionFailure("an event has a second error") }
        drain(&assembler, into: &data)
    }
    assembler.flush(adapter: nil)
    drain(&assembler, into: &data)
    precondition(assembler.isIdle, "chains remain after all reports were fetched")
}

private func drain(_ assembler: inout ExtendedReportAssembler, into data: inout [UInt8]) {
    while let ready = assembler.nextReady(into: &data) {
        precondition(ready.report.data == 0..<data.count)
        precondition(data.count <= ExtendedReportAssembler.dataBytesMax)
        checkStructures(data.span)
    }
}
