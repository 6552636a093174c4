/// The users that have access: one line `name:hash` for each, with a hash by `mkpasswd` or `htpasswd -B` (crypt(5)).
package struct UsersFile: Sendable, Hashable {
    /// The maximum size of the file, in bytes.
    package static let bytesMax = 1 << 18
    private static let usersMax = 1000
    private static let hashBytesMax = 384
    // The kinds of hashes that crypt(5) considers strong enough for new passwords, and sha256crypt.
    private static let kinds = ["$y$", "$gy$", "$7$", "$2b$", "$2y$", "$6$", "$5$"]

    /// An error in a line; line 0 means the whole file.
    package struct FormatError: Error, Hashable {
        package var line: Int
        package var words: String
    }

    /// The hashes by name; at least one.
    let hashes: [String: String]
    /// The hash that takes the longest to compute. If several do, it is the first of them in the order of their text.
    let dearest: String
    /// The number of users.
    package var count: Int { hashes.count }

    /// Reads the bytes of a file. Lines that are empty or start with `#` are ignored.
    package init(_ bytes: [UInt8]) throws(FormatError) {
        guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
            throw FormatError(line: 0, words: "the file is not UTF-8 text")
        }
        var hashes: [String: String] = [:]
        // "\r\n" is one `Character` in Swift.
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            guard !line.isEmpty, line.first != "#" else { continue }
            func formatError(_ words: String) -> FormatError { FormatError(line: index + 1, words: words) }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw formatError("expected NAME:HASH, with a hash from `mkpasswd -m yescrypt`")
            }
            let (name, hash) = (String(parts[0]), String(parts[1]))
            guard hash.utf8.count <= Self.hashBytesMax, Self.kinds.contains(where: { hash.hasPrefix($0) }) else {
                throw formatError(
                    "the hash of \(name) is weak or of an unknown kind; create one with `mkpasswd -m yescrypt`")
            }
            guard hashes.updateValue(hash, forKey: name) == nil else { throw formatError("\(name) is listed twice") }
            guard hashes.count <= Self.usersMax else { throw formatError("expected at most \(Self.usersMax) users") }
        }
        guard !hashes.isEmpty else {
            throw FormatError(line: 0, words: "the file has no users, so all logins would fail")
        }
        self.hashes = hashes
        dearest = hashes.values.sorted().max { Self.cost(of: $0) < Self.cost(of: $1) } ?? ""
    }

    /// Returns about how long a hash takes to compute, in microseconds, by its parameters (crypt(5)).
    ///
    /// The factors are measured. Only the order of the results matters.
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
        // A letter for the variant, then the binary logarithm of the number of blocks and the size of a block, both
        // minus one.
        case "y", "gy": return numbers.count > 2 ? memoryHard(numbers[1] + 1, numbers[2] + 1) : 0
        // The binary logarithm of the number of blocks, then the size of a block in five letters, lowest first.
        case "7": return numbers.count > 2 ? memoryHard(numbers[0], numbers[1] + numbers[2] << 6) : 0
        default: return 0
        }
    }
}
