/// One line of a site's event files.
package struct SiteLine: Sendable, Hashable {
    /// The line's `sequence`, from 1 on without gap.
    package let number: UInt64
    /// The line with its line end, as event files have it.
    package let octets: [UInt8]
}
