/// Which of the names that there are was meant by one that there is not.
enum NameSuggestion {
    /// The nearest of `names`, where it is near: a letter in three may be another, missing or too many.
    static func nearest(to name: String, among names: some Sequence<String>) -> String? {
        let wanted = Array(name.lowercased().unicodeScalars.prefix(lengthMax))
        var best: (name: String, distance: Int)?
        for candidate in names {
            let distance = distance(wanted, Array(candidate.lowercased().unicodeScalars.prefix(lengthMax)))
            if distance < best?.distance ?? max(2, wanted.count / 3 + 1) { best = (candidate, distance) }
        }
        return best?.name
    }

    // What is longer differs at its beginning, or is no slip of the hand.
    private static let lengthMax = 64

    /// How many letters have to be changed, put in or taken out (Levenshtein's distance).
    private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (place, other) in right.enumerated() {
                let above = row[place + 1]
                row[place + 1] = min(above + 1, row[place] + 1, diagonal + (letter == other ? 0 : 1))
                diagonal = above
            }
        }
        return row[right.count]
    }
}
