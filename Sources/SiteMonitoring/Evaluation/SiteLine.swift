/// One line of a site's event files.
package struct SiteLine: Sendable, Hashable {
    /// The line's `sequence`, consecutive from 1.
    package let number: UInt64
    /// The bytes of the line with its line end, as in event files.
    package let bytes: [UInt8]
}
