/// How far somebody has come in the event files: the number of the last line, and where the next one should begin.
///
/// Only the number counts. The place spares looking for it, and is found out anew where it is no longer right: files are
/// cut after a crash, and deleted when they are old.
public struct LinePosition: Sendable, Hashable {
    /// The greatest number that a line can have: 2⁵³ − 1. Beyond it many readers of JSON round (RFC 8259 §6).
    ///
    /// A gateway that writes a thousand lines a second comes to it after 285,000 years.
    public static let sequenceMax = 9_007_199_254_740_991

    /// The number of the last line that somebody is done with; 0: none.
    public var sequence: Int
    /// The name of the segment that the next line should stand in; empty where that is not known.
    public var segment: String
    /// Where the next line should begin in that segment, in octets.
    public var offset: Int

    /// Makes a position; by its number alone unless more is known.
    public init(sequence: Int, segment: String = "", offset: Int = 0) {
        self.sequence = min(max(sequence, 0), Self.sequenceMax)
        self.segment = segment
        self.offset = max(offset, 0)
    }
}
