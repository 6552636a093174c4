/// The options for playing a GPX file.
public struct GPXOptions: Sendable, Hashable {
    /// The factor of the speed, above 0 and finite; 1 by default. With another value, playing throws `LocationError`.
    public var speed = 1.0
    /// Whether the file starts again after its end.
    public var loops = false

    /// Creates the default options: the original speed, once.
    public init() {}
}
