import BaseTypes
import BeaconMonitoring
import JSON

/// An event file of a folder, described by its name.
struct Segment: Hashable {
    /// The number of its first line.
    let first: Int
    /// The date at which it was started, in whole seconds of the wall clock.
    let date: WallDate
    let name: String
    /// The number of its first line, if it is known; otherwise that of its name. A copy of another segment has the
    /// numbers of that segment, whatever its name is.
    var begins: Int
    var size = 0
    /// The date of its last line; `nil` until it is requested.
    var age: Age?

    /// The date of a segment's last line.
    struct Age: Hashable {
        var machine: String
        /// The date in the last line.
        var date: WallDate
        var monotonic: Int64
        /// The date as corrected by the `clock` lines of this file and later ones; `nil` if there are none for that
        /// start of the machine.
        var restamped: WallDate?
    }

    init?(name: String) {
        // events-000000000042-20261121T074627Z.jsonl; more than twelve digits from line 10¹² on.
        let bytes = Array(name.utf8)
        guard name.hasPrefix("events-"), name.hasSuffix("Z.jsonl"),
            let hyphen = bytes[7...].firstIndex(of: UInt8(ascii: "-")), hyphen >= 19,
            bytes.count == hyphen + 1 + 15 + 7, bytes[hyphen + 9] == UInt8(ascii: "T"),
            let first = Self.number(bytes[7..<hyphen]),
            let day = Self.number(bytes[hyphen + 1..<hyphen + 9]),
            let time = Self.number(bytes[hyphen + 10..<hyphen + 16])
        else { return nil }
        self.first = first
        begins = first
        self.name = name
        let days = CivilDate.day(year: day / 10_000, month: day / 100 % 100, day: day % 100)
        let seconds = days * 86_400 + time / 10_000 * 3600 + time / 100 % 100 * 60 + time % 100
        date = WallDate(microseconds: Int64(seconds) * 1_000_000)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard !bytes.isEmpty, bytes.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(String(decoding: bytes, as: UTF8.self))
    }

    /// Returns whether the lines of `left` are before those of `right`.
    static func precedes(_ left: Segment, _ right: Segment) -> Bool {
        left.begins != right.begins ? left.begins < right.begins : left.name < right.name
    }
}
