/// The version of what a gateway publishes: its lines, its retained states and its status.
///
/// It rises when a key goes or changes its meaning, not when one comes: readers pass over types and keys that they don't
/// know. What is told by a greater one can't be known, and nobody guesses: recovery refuses it, readers pass over it.
public enum LineVersion {
    /// The one that is written. Lines of every version up to it are read.
    public static let current = 2
}
