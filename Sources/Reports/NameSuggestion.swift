import BaseTypes

/// Suggests an existing name for an unknown one.
enum NameSuggestion {
    /// The nearest of `names`, if one is near enough: with a mistake in each third letter, or a single one in a short name.
    static func nearest(to name: String, among names: some Sequence<String>) -> String? {
        let wanted = Array(name.lowercased().unicodeScalars.prefix(lengthMax))
        var best: (name: String, distance: Int)?
        for candidate in names {
            let distance = editDistance(wanted, Array(candidate.lowercased().unicodeScalars.prefix(lengthMax)))
            if distance < best?.distance ?? max(2, wanted.count / 3 + 1) { best = (candidate, distance) }
        }
        return best?.name
    }

    // The distance of longer names is that of their beginnings.
    private static let lengthMax = 64
}
