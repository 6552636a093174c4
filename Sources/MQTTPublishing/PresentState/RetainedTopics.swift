/// What is retained at the broker, folded out of the lines: who is where at present.
///
/// A value; the publisher hands it each line once, in order, and publishes its changes when it has caught up.
package protocol RetainedTopics {
    /// The number of the last line that it took.
    var sequence: Int { get }
    /// All of it, to be kept over restarts.
    var encoded: [UInt8] { get }
    /// Whether there is a change that has not been given by ``nextChanges(_:into:)``.
    var hasChanges: Bool { get }
    /// Takes a line of the event files, whole, without its end.
    mutating func take(_ line: [UInt8], sequence: Int)
    /// Gives up to `limit` messages, each topic once, with its latest value; they count once they are acknowledged.
    mutating func nextChanges(_ limit: Int, into changes: inout [Publication])
    /// The broker has what was given for this topic.
    mutating func acknowledge(_ topic: String)
    /// A connection began on which nothing that was given before will be acknowledged: it comes again.
    mutating func reconnected()
    /// The broker may have forgotten: all topics again.
    mutating func repeatAll()
}

extension PresentState: RetainedTopics {}
