package import BluetoothLE
import JSON
package import SystemPackage

/// A beacon whose retained messages the publisher must delete from the broker, stored in a file in the state directory.
///
/// The program that erases the beacon writes the file. The publisher deletes it after it has stored its own file
/// without the beacon, except in topics that it must still clear.
package struct ErasedBeacon: Sendable, Hashable {
    /// The name of the file.
    package static let fileName = "mqtt-forget.json"
    private static let sizeMax = 1 << 20
    // The maximum number of beacons: more than an operator erases between two runs of a publisher.
    private static let countMost = 1000

    /// The beacon.
    package let beacon: BeaconIdentity
    /// The last line that can still contain the beacon.
    package let upTo: Int

    /// Creates an entry for a beacon and the last line that can contain it.
    package init(_ beacon: BeaconIdentity, upTo: Int) { (self.beacon, self.upTo) = (beacon, upTo) }

    /// Returns the beacons in the file of a state directory.
    ///
    /// - Throws: ``EventLogError`` if it cannot be read. An invalid file counts as empty.
    package static func all(in directory: FilePath) throws(EventLogError) -> [ErasedBeacon] {
        let path = directory.appending(fileName)
        let bytes = try EventLogError.reading(path, WholeFile.read(path, bytesMax: sizeMax))
        guard var text = bytes.map({ JSONText($0) }), text.parse() else { return [] }
        return text.elements(of: text.find("beacons", in: 0)).compactMap { place in
            text.beacon(place).map { ErasedBeacon($0, upTo: text.integer(text.find("upTo", in: place)) ?? 0) }
        }
    }

    /// Adds the beacon to the file in a state directory.
    ///
    /// - Throws: ``EventLogError``.
    package func add(in directory: FilePath) throws(EventLogError) {
        let known = try Self.all(in: directory).filter { $0.beacon != beacon }
        var buffer = LineBuffer(capacity: 1024)
        buffer.object { buffer in
            buffer.write("version", 1)
            buffer.objects("beacons", known.suffix(Self.countMost - 1) + [self]) { buffer, forgotten in
                buffer.write(forgotten.beacon)
                buffer.write("upTo", forgotten.upTo)
            }
        }
        buffer.append(byte: 0x0A)
        let path = directory.appending(Self.fileName)
        try EventLogError.writing(path, WholeFile.replace(path, with: buffer, files: SystemFiles()))
    }

    /// Deletes the file.
    ///
    /// - Throws: ``EventLogError``.
    package static func removeAll(in directory: FilePath) throws(EventLogError) {
        let path = directory.appending(fileName)
        try EventLogError.writing(path, SystemFiles().removeIfPresent(path))
    }
}
