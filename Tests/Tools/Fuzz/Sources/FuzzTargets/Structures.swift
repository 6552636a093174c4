import BluetoothLE

/// Reads AD structures with `nextBeacon(in:)` and with `next(in:)`. Both must give the same iBeacons and the same
/// error, and the bytes of each iBeacon must be in `payload`.
func checkStructures(_ payload: Span<UInt8>) {
    var beacons: [IBeacon] = []
    var error: ADStructureError?
    var cursor = ADStructures()
    do throws(ADStructureError) {
        while let beacon = try cursor.nextBeacon(in: payload) { beacons.append(beacon) }
    } catch let thrown { error = thrown }

    var slowBeacons: [IBeacon] = []
    var slowError: ADStructureError?
    var slowCursor = ADStructures()
    do throws(ADStructureError) {
        while let structure = try slowCursor.next(in: payload) {
            precondition(structure.data.lowerBound >= 2 && structure.data.upperBound <= payload.count)
            guard structure.type == 0xFF, let beacon = IBeacon(manufacturerData: payload.extracting(structure.data))
            else {
                continue
            }
            slowBeacons.append(beacon)
            let bytes = beacon.manufacturerData
            for index in bytes.indices { precondition(payload[structure.data.lowerBound + index] == bytes[index]) }
        }
    } catch let thrown { slowError = thrown }
    precondition(beacons == slowBeacons)
    precondition(error == slowError)
}
