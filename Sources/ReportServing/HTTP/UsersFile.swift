/// Who may look: a line for each, `name:hash`, as `mkpasswd` and `htpasswd -B` make hashes (crypt(5)).
package struct UsersFile: Sendable, Hashable {
    /// How large such a file may be.
    package static let octetsMax = 1 << 18
    private static let usersMax = 1000
    private static let hashOctetsMax = 384
    // Those that crypt(5) holds to be strong enough for new hashes, and sha256crypt.
    private static let kinds = ["$y$", "$gy$", "$7$", "$2b$", "$2y$", "$6$", "$5$"]

    /// What is wrong with a line; 0 where it is the whole.
    package struct Mistake: Error, Hashable {
        package var line: Int
        package var words: String
    }

    /// Hashes by name; one at least.
    let hashes: [String: String]
    /// The hash that takes the longest to compute; the first in the order of their text, if several do.
    let dearest: String
    /// How many users there are.
    package var count: Int { hashes.count }

    /// Reads the octets of a file; lines that are empty or begin with `#` say nothing.
    package init(_ octets: [UInt8]) throws(Mistake) {
        guard let text = String(validating: octets, as: UTF8.self), !octets.contains(0) else {
            throw Mistake(line: 0, words: "the file is not UTF-8 text")
        }
        var hashes: [String: String] = [:]
        // "\r\n" is one character of Swift's.
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            guard !line.isEmpty, line.first != "#" else { continue }
            func mistake(_ words: String) -> Mistake { Mistake(line: index + 1, words: words) }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw mistake("expected NAME:HASH, with a hash from `mkpasswd -m yescrypt`")
            }
            let (name, hash) = (String(parts[0]), String(parts[1]))
            guard hash.utf8.count <= Self.hashOctetsMax, Self.kinds.contains(where: { hash.hasPrefix($0) }) else {
                throw mistake(
                    "the hash of \(name) is weak or of an unknown kind; create one with `mkpasswd -m yescrypt`")
            }
            guard hashes.updateValue(hash, forKey: name) == nil else { throw mistake("\(name) is listed twice") }
            guard hashes.count <= Self.usersMax else { throw mistake("expected at most \(Self.usersMax) users") }
        }
        guard !hashes.isEmpty else { throw Mistake(line: 0, words: "the file has no users, so all logins would fail") }
        self.hashes = hashes
        dearest = hashes.values.sorted().max { Self.cost(of: $0) < Self.cost(of: $1) } ?? ""
    }

    /// About how long a hash takes to compute, in microseconds, by its parameters (crypt(5)).
    ///
    /// The factors are measured; only their order counts.
    static func cost(of hash: String) -> Double {
        let parts = hash.split(separator: "$")
        guard parts.count > 1 else { return 0 }
        let alphabet = Array("./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
        let numbers = parts[1].utf8.map { alphabet.firstIndex(of: $0) ?? 0 }
        func memoryHard(_ blocksLog2: Int, _ size: Int) -> Double {
            0.2 * Double(sign: .plus, exponent: blocksLog2, significand: 1) * Double(size)
        }
        switch parts[0] {
        case "5", "6":
            let rounds = parts[1].hasPrefix("rounds=") ? Double(parts[1].dropFirst(7)) : nil
            return 0.25 * (rounds ?? 5000)
        case "2b", "2y": return 49 * Double(sign: .plus, exponent: Int(parts[1]) ?? 0, significand: 1)
        // A letter for the flavour, then the numbers of blocks and their size, both less one.
        case "y", "gy": return numbers.count > 2 ? memoryHard(numbers[1] + 1, numbers[2] + 1) : 0
        // The number of blocks, then their size in five letters, the lowest first.
        case "7": return numbers.count > 2 ? memoryHard(numbers[0], numbers[1] + numbers[2] << 6) : 0
        default: return 0
        }
    }
}
