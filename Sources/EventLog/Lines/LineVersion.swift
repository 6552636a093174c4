/// The version of the published formats: the lines, the retained states and the status.
///
/// It increases if a key is removed or changes its meaning, but not if a key is added: readers must ignore unknown
/// types and keys. Lines of a higher version cannot be interpreted, so recovery refuses them and other readers skip
/// them.
public enum LineVersion {
    /// The version that is written. Lines of all versions up to this one are read.
    public static let current = 2
}
