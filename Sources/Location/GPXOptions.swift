/// How a GPX file is played.
public struct GPXOptions: Sendable, Hashable {
    /// How many times as fast, above 0.
    public var speed = 1.0
    /// Whether it begins again at its end.
    public var loops = false

    /// As fast as it was, and once.
    public init() {}
}
