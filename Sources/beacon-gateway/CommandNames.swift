import ArgumentParser

/// The names of the commands, and the error message for a word that is not one of them.
///
/// The argument parser itself reports such a word as an unexpected argument, and ignores it if `--help` follows.
enum CommandNames {
    /// All names, in the order of the help.
    // This is a closure, because the compiler (6.3.1) crashes on a key path through types that are used as `any`.
    static let all = BeaconGateway.configuration.subcommands.compactMap { $0.configuration.commandName } + ["help"]

    // Two typing errors. One is an additional, a missing or a wrong letter, or two exchanged letters.
    private static let distanceMax = 2

    /// Returns the error in the command name of a command line; `nil` if the name is valid, or if there is none.
    static func problem(in arguments: [String]) -> String? {
        guard var word = arguments.first else { return nil }
        if word == "help" {
            guard arguments.count > 1 else { return nil }
            word = arguments[1]
        }
        guard !word.hasPrefix("-"), !all.contains(word) else { return nil }
        if let name = suggestion(for: word) { return "'\(word)' is not a command; did you mean '\(name)'?" }
        return "'\(word)' is not a command; the commands are \(all.joined(separator: ", "))"
    }

    /// Returns the command that the user probably meant; `nil` if no name is similar.
    static func suggestion(for word: String) -> String? {
        let near = all.map { (name: $0, distance: distance(word.lowercased(), $0)) }.min { $0.distance < $1.distance }
        // In a short word, two letters are most of the word.
        if let near, near.distance <= min(distanceMax, near.name.count / 2) { return near.name }
        return word.count >= 3 ? all.first { $0.hasPrefix(word.lowercased()) } : nil
    }

    /// Returns the number of changes that convert one word into the other (optimal string alignment). A change inserts,
    /// removes or replaces a letter, or exchanges it with the next one.
    static func distance(_ left: String, _ right: String) -> Int {
        // No command is that long, so further letters are ignored.
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
