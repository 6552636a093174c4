package import BluetoothLE
import JSON
package import SystemPackage

/// A beacon whose retained messages a publisher is to take back from the broker, as a file in the state directory says.
///
/// The file is written by who forgets and taken away by the publisher, once its own file says so.
package struct ForgottenBeacon: Sendable, Hashable {
    /// What the file is called.
    package static let fileName = "mqtt-forget.json"
    private static let sizeMax = 1 << 20
    // More than any operator erases between two runs of a publisher.
    private static let countMost = 1000

    /// The beacon.
    package let beacon: BeaconIdentity
    /// Lines up to this one may tell of it still.
    package let upTo: Int

    /// A beacon of which lines up to a number may tell.
    package init(_ beacon: BeaconIdentity, upTo: Int) { (self.beacon, self.upTo) = (beacon, upTo) }

    /// Those that a state directory names.
    ///
    /// - Throws: ``EventLogError`` where it can't be read; what makes no sense names none.
    package static func all(in directory: FilePath) throws(EventLogError) -> [ForgottenBeacon] {
        let path = directory.appending(fileName)
        let bytes = try EventLogError.reading(path, WholeFile.read(path, octetsMax: sizeMax))
        guard var text = bytes.map({ JSONText($0) }), text.parse() else { return [] }
        return text.elements(of: text.find("beacons", in: 0)).compactMap { place in
            text.beacon(place).map { ForgottenBeacon($0, upTo: text.integer(text.find("upTo", in: place)) ?? 0) }
        }
    }

    /// Adds it to those that a state directory names.
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
        buffer.append(octet: 0x0A)
        let path = directory.appending(Self.fileName)
        try EventLogError.writing(path, WholeFile.replace(path, with: buffer, files: SystemFiles()))
    }

    /// Takes the file away.
    ///
    /// - Throws: ``EventLogError``.
    package static func removeAll(in directory: FilePath) throws(EventLogError) {
        let path = directory.appending(fileName)
        try EventLogError.writing(path, SystemFiles().removeIfPresent(path))
    }
}
