import BaseTypes

/// Suggests an existing name for an unknown one.
package enum NameSuggestion {
    /// Returns the nearest of `names` if it is near enough: its edit distance must be at most a third of the number of
    /// letters of `name`, but a distance of 1 is always accepted. Upper and lower case do not matter.
    package static func nearest(to name: String, among names: some Sequence<String>) -> String? {
        let wanted = Array(name.lowercased().unicodeScalars.prefix(lengthMax))
        var best: (name: String, distance: Int)?
        for candidate in names {
            let distance = editDistance(wanted, Array(candidate.lowercased().unicodeScalars.prefix(lengthMax)))
            if distance < best?.distance ?? max(2, wanted.count / 3 + 1) { best = (candidate, distance) }
        }
        return best?.name
    }

    // Of longer names, only the start is compared.
    private static let lengthMax = 64
}
