import Foundation

@testable import BeaconMonitoring
@testable import BluetoothLE
@testable import EventLog

/// The required result of an erasure. It is determined by text search and Foundation's JSON, and not by code of this
/// project.
struct ErasureTruth {
    struct Violation: Error, CustomStringConvertible {
        let description: String
    }

    let beacon: BeaconIdentity
    let address: String
    private let before: [String: Data]
    private let spellings: NSRegularExpression
    /// The numbers of all lines before the erasure.
    let numbers: [Int]

    init(_ fixture: ErasureFixture, _ beacon: BeaconIdentity) throws {
        self.beacon = beacon
        let value = fixture.address(of: beacon).value
        let bytes = (0..<6).map { (place: Int) -> UInt64 in value >> UInt64(40 - 8 * place) & 0xFF }
        address = bytes.map { String(format: "%02X", $0) }.joined(separator: ":")
        before = try fixture.files()
        let uuid = "\(beacon.uuid)"
        spellings = try NSRegularExpression(
            pattern: #"\#(uuid)/\#(beacon.major)/\#(beacon.minor)(?![0-9])"#
                + #"|"uuid":"\#(uuid)","major":\#(beacon.major),"minor":\#(beacon.minor)(?![0-9])|\#(address)"#)
        numbers = try fixture.numbers()
    }

    /// Returns whether a text identifies the beacon, in any spelling that the program writes.
    func names(_ text: String) -> Bool {
        spellings.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) != nil
    }

    private static func payload(_ line: String) -> [String: Any]? {
        let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        return object?["payload"] as? [String: Any] ?? object
    }

    /// Checks the files after the erasure.
    ///
    /// - Throws: ``Violation`` with the first difference from the required result.
    func check(_ fixture: ErasureFixture) throws {
        let after = try fixture.files()
        let same = before.keys.filter { $0.hasPrefix("events/events-") }.sorted()
        guard after.keys.filter({ $0.hasPrefix("events/events-") }).sorted() == same else {
            throw Violation(description: "other files: \(after.keys.sorted())")
        }
        for (name, bytes) in after {
            var text = String(decoding: bytes, as: UTF8.self)
            // A condition can be for exactly this beacon. It belongs to the configuration, and is not a record of the
            // beacon.
            if name == "state/state.json" {
                let identity =
                    #""condition":{"uuid":"\#(beacon.uuid)","major":\#(beacon.major),"minor":\#(beacon.minor)}"#
                text = text.replacingOccurrences(of: identity, with: "")
            }
            if names(text) { throw Violation(description: "\(name) still contains the beacon:\n\(text)") }
        }
        var gone: Set<Int> = []
        for name in same { try check(name, after[name] ?? Data(), &gone) }
    }

    private func check(_ name: String, _ after: Data, _ gone: inout Set<Int>) throws {
        let old = String(decoding: before[name] ?? Data(), as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        let new = String(decoding: after, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard old.count == new.count else { throw Violation(description: "\(name): another number of lines") }
        for (was, line) in zip(old.map(String.init), new.map(String.init)) {
            guard was.utf8.count == line.utf8.count else {
                throw Violation(description: "\(name): another length\n\(was)\n\(line)")
            }
            let (from, to) = (Self.payload(was), Self.payload(line))
            let event = from?["type"] as? String == "evidence" ? from?["event"] as? Int : nil
            guard names(was) || event.map({ gone.contains($0) }) ?? false else {
                if was != line { throw Violation(description: "\(name): another line\n\(was)\n\(line)") }
                continue
            }
            guard let from else { continue }
            if let number = from["sequence"] as? Int { gone.insert(number) }
            guard let to else { throw Violation(description: "\(name): the line is not JSON\n\(was)\n\(line)") }
            for key in ["version", "gateway", "boot", "sequence", "date", "time", "monotonic"] {
                guard (from[key] as? NSObject) == (to[key] as? NSObject) else {
                    throw Violation(description: "\(name): \(key)\n\(was)\n\(line)")
                }
            }
            let isOwn = from["scope"] as? String == "beacon" && names(was) && from["refinement"] != nil
            if isOwn, to["type"] as? String != "erased" {
                throw Violation(description: "\(name): a line of the beacon is not erased\n\(was)\n\(line)")
            }
            if to["type"] as? String == "erased" {
                let keys = Set(to.keys).subtracting([
                    "version", "type", "gateway", "boot", "sequence", "date", "time", "monotonic",
                ])
                guard keys.isEmpty else { throw Violation(description: "\(name): \(keys) are left\n\(line)") }
            }
        }
    }
}
