import ArgumentParser

/// The names of the commands, and what is said of a word that is none of them.
///
/// The parser itself calls it an unexpected argument, and forgets it where `--help` stands behind it.
enum CommandNames {
    /// All of them, in the order of the help.
    // By a closure: on a key path through types that exist as `any` the compiler ends (6.3.1).
    static let all = BeaconGateway.configuration.subcommands.compactMap { $0.configuration.commandName } + ["help"]

    // Two mistakes of a hand: a letter too many, one missing, another one, or two that changed places.
    private static let distanceMax = 2

    /// What is wrong with the command that a command line names; `nil` where it names one, or none at all.
    static func mistake(in arguments: [String]) -> String? {
        guard var word = arguments.first else { return nil }
        if word == "help" {
            guard arguments.count > 1 else { return nil }
            word = arguments[1]
        }
        guard !word.hasPrefix("-"), !all.contains(word) else { return nil }
        if let name = suggestion(for: word) { return "'\(word)' is not a command; did you mean '\(name)'?" }
        return "'\(word)' is not a command; the commands are \(all.joined(separator: ", "))"
    }

    /// The command that a word may have been meant for.
    static func suggestion(for word: String) -> String? {
        let near = all.map { (name: $0, distance: distance(word.lowercased(), $0)) }.min { $0.distance < $1.distance }
        // Of a short word two letters are most of it.
        if let near, near.distance <= min(distanceMax, near.name.count / 2) { return near.name }
        return word.count >= 3 ? all.first { $0.hasPrefix(word.lowercased()) } : nil
    }

    /// How many letters have to be put in, taken out, replaced or exchanged with the next one to make one word of the other
    /// (optimal string alignment).
    static func distance(_ left: String, _ right: String) -> Int {
        // No command is that long: what was typed there is not looked at to its end.
        let (left, right) = (Array(left.utf8.prefix(64)), Array(right.utf8.prefix(64)))
        var before: [Int] = []
        var last = Array(0...right.count)
        for (row, letter) in left.enumerated() {
            var next = [row + 1]
            for (column, other) in right.enumerated() {
                var best = min(last[column] + (letter == other ? 0 : 1), last[column + 1] + 1, next[column] + 1)
                if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
                    best = min(best, before[column - 1] + 1)
                }
                next.append(best)
            }
            (before, last) = (last, next)
        }
        return last[right.count]
    }
}
