/// The identity of an iBeacon: UUID, major and minor (rule B5).
///
/// The address of the advertiser is not part of it, because it can rotate.
///
///     let badge = BeaconIdentity(uuid: uuid, major: 1, minor: 7)
///     #expect(badge.description == "F7826DA6-4FA2-4E98-8024-BC5B71E0893E/1/7")
///     #expect(BeaconIdentity("F7826DA6-4FA2-4E98-8024-BC5B71E0893E/1/7") == badge)
public struct BeaconIdentity: Sendable, Hashable, Comparable {
    /// The UUID that all beacons of a deployment share.
    public let uuid: ProximityUUID
    /// The number of the group within the deployment.
    public let major: UInt16
    /// The number of the beacon within the group.
    public let minor: UInt16

    /// Creates an identity from its three parts.
    @inlinable public init(uuid: ProximityUUID, major: UInt16, minor: UInt16) {
        self.uuid = uuid
        self.major = major
        self.minor = minor
    }

    /// Orders by UUID, then by major, then by minor.
    @inlinable public static func < (left: BeaconIdentity, right: BeaconIdentity) -> Bool {
        guard left.uuid == right.uuid else { return left.uuid < right.uuid }
        return left.major != right.major ? left.major < right.major : left.minor < right.minor
    }
}

// The text form in topics, JSON, CSV, arguments and messages.
extension BeaconIdentity: LosslessStringConvertible {
    /// The identity as `UUID/MAJOR/MINOR`: the UUID in upper case with hyphens, the numbers in decimal.
    public var description: String { "\(uuid)\(Self.separator)\(numbers)" }

    /// Creates an identity from a text such as ``description``. Returns `nil` for any other text, also if a part is
    /// missing.
    public init?(_ description: String) {
        guard let filter = BeaconFilter(description), let uuid = filter.uuid, let major = filter.major,
            let minor = filter.minor
        else { return nil }
        self.init(uuid: uuid, major: major, minor: minor)
    }

    /// The identity without its UUID: `MAJOR/MINOR`.
    package var numbers: String { "\(major)\(Self.separator)\(minor)" }

    /// The character between the parts of ``description``, in ASCII.
    package static var separator: Unicode.Scalar { "/" }

    /// A part of the identity, for forms in which each part is a value of its own.
    @usableFromInline package enum Part: CaseIterable, Sendable {
        case uuid, major, minor

        /// The key in JSON, and the name of the column in CSV.
        @inlinable package var key: StaticString {
            switch self {
            case .uuid: "uuid"
            case .major: "major"
            case .minor: "minor"
            }
        }
    }

    /// Returns the text of one part.
    package func text(of part: Part) -> String {
        switch part {
        case .uuid: "\(uuid)"
        case .major: "\(major)"
        case .minor: "\(minor)"
        }
    }

    /// The texts of all parts, in order.
    package var texts: [String] { Part.allCases.map { text(of: $0) } }
}

/// The beacons that a text names: `UUID`, `UUID/MAJOR`, `UUID/MAJOR/MINOR` or `MAJOR/MINOR`.
package struct BeaconFilter: Sendable, Hashable {
    /// The text that the operator gave, for messages.
    package let text: String
    /// The UUID; `nil`: any.
    package let uuid: ProximityUUID?
    /// The major; `nil`: any.
    package let major: UInt16?
    /// The minor; `nil`: any.
    package let minor: UInt16?

    /// Creates the filter that `text` spells; `nil` if it has none of the four forms, or a number above 65,535.
    package init?(_ text: String) {
        var parts = text.split(separator: Character(BeaconIdentity.separator), omittingEmptySubsequences: false)
        guard let first = parts.first, parts.count <= 3 else { return nil }
        self.text = text
        uuid = ProximityUUID(first)
        if uuid != nil { parts.removeFirst() } else if parts.count != 2 { return nil }
        let numbers = parts.map { UInt16($0) }
        guard numbers.allSatisfy({ $0 != nil }) else { return nil }
        major = numbers.first ?? nil
        minor = numbers.count > 1 ? numbers[1] : nil
    }

    /// Creates the filter of one beacon. `text` is the name that the operator gave.
    package init(_ beacon: BeaconIdentity, text: String) {
        (self.text, uuid, major, minor) = (text, beacon.uuid, beacon.major, beacon.minor)
    }

    /// Returns whether `beacon` has the parts that the filter has.
    package func matches(_ beacon: BeaconIdentity) -> Bool {
        (uuid == nil || uuid == beacon.uuid) && (major == nil || major == beacon.major)
            && (minor == nil || minor == beacon.minor)
    }
}
