import BluetoothLE
import CLinux
import Glibc
import JSON

/// Searches for a beacon in text without parsing it: `UUID/MAJOR/MINOR` in topics, and the three keys in lines.
struct BeaconText: Sendable {
    private let uuid: [UInt8]
    /// The text after the UUID in each of the two forms.
    private let endings: [[UInt8]]
    /// Text that every line with the beacon contains, whatever its order and spacing.
    private let major: [UInt8]
    private let minor: [UInt8]

    init(_ beacon: BeaconIdentity) {
        uuid = Array(beacon.uuid.description.utf8)
        major = Array("\(beacon.major)".utf8)
        minor = Array("\(beacon.minor)".utf8)
        var object = LineBuffer(capacity: 1024)
        object.object { $0.write(beacon) }
        let texts = [Array(beacon.description.utf8), object.bytes.dropLast()]
        endings = texts.compactMap { [uuid] text in
            text.span.first(of: uuid, from: 0).map { Array(text.dropFirst($0 + uuid.count)) }
        }
    }

    /// Returns whether a line can contain the beacon. Most lines cannot, so they need no closer check.
    func canOccur(in bytes: Span<UInt8>) -> Bool {
        bytes.first(of: major, from: 0) != nil && bytes.first(of: minor, from: 0) != nil
    }

    /// Returns whether the bytes contain the beacon, or end in a place where it can have started.
    func occurs(in bytes: Span<UInt8>) -> Bool {
        var place = 0
        while let found = bytes.first(of: uuid, from: place) {
            place = found + uuid.count
            for ending in endings {
                let length = min(ending.count, bytes.count - place)
                guard (0..<length).allSatisfy({ bytes[place + $0] == ending[$0] }) else { continue }
                // A longer number belongs to another beacon.
                let next = place + length
                if length < ending.count || next == bytes.count || !(0x30...0x39).contains(bytes[next]) {
                    return true
                }
            }
        }
        return false
    }
}

extension Span<UInt8> {
    /// Returns the first place of `word` at or after `start` (memmem(3)).
    func first(of word: [UInt8], from start: Int) -> Int? {
        guard start < count else { return nil }
        return unsafe withUnsafeBytes { bytes in
            unsafe word.withUnsafeBytes { word in
                guard let base = bytes.baseAddress, let wanted = word.baseAddress,
                    let found = unsafe memmem(base + start, bytes.count - start, wanted, word.count)
                else { return nil }
                return unsafe UnsafeRawPointer(found) - base
            }
        }
    }
}
