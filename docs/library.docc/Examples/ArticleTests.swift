import Foundation
import Testing

/// The listings of the articles, of the tutorial and of documentation comments are compiled here, and the symbols of
/// “Coming from Core Location” are used in tests.
@Suite struct ArticleTests {
    private static let examples = URL(filePath: #filePath).deletingLastPathComponent()
    private static let article = examples.appending(path: "../ComingFromCoreLocation.md")

    private static func texts(below folder: URL) throws -> [String] {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        var texts: [String] = []
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift", !file.path.contains("/.build/") else { continue }
            texts.append(try String(contentsOf: file, encoding: .utf8))
        }
        return texts
    }

    private static func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    /// Programs that are compiled: the examples, and the sample packages.
    private static func compiled() throws -> [[String]] {
        let sample = examples.appending(path: "../../../Tests/Sample").standardizedFileURL
        return try (texts(below: examples) + texts(below: sample)).map { lines($0) }
    }

    @Test(arguments: ["ComingFromCoreLocation", "ScanForABeacon", "TestAMonitor"])
    func `every listing is in an example, as consecutive lines`(article: String) throws {
        let text = try String(contentsOf: Self.examples.appending(path: "../\(article).md"), encoding: .utf8)
        let listings = text.components(separatedBy: "```swift\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
        #expect(listings.count >= 2)
        let examples = try Self.compiled()
        for listing in listings {
            let lines = Self.lines(listing)
            let isThere = examples.contains { example in
                example.indices.contains { example[$0...].starts(with: lines) }
            }
            #expect(isThere, "\(listing)")
        }
    }

    /// The lines of a file in the repository.
    private static func lines(of path: String) throws -> [String] {
        let file = examples.appending(path: "../../../\(path)").standardizedFileURL
        return lines(try String(contentsOf: file, encoding: .utf8))
    }

    @Test(arguments: ["README.md", "docs/library.docc/ScanForABeacon.md"])
    func `the first complete program of a page is that of the sample`(page: String) throws {
        let lines = try Self.lines(of: page)
        let program = try Self.lines(of: "Tests/Sample/Basics/Sources/Near/main.swift")
        let first = try #require(lines.firstIndex(of: "import BeaconScanning"))
        #expect(lines[first...].prefix(program.count) == program[...])
        #expect(lines[first - 1] == "```swift" && lines[first + program.count] == "```")
    }

    @Test(arguments: [
        ("NearCapture", #".capture("Tests/Sample/Basics/walk.jsonl")"#), ("NearScripted", ".scripted(script)"),
    ])
    func `the programs that the gate runs are that of the README with another source`(name: String, source: String)
        throws
    {
        let program = try Self.lines(of: "Tests/Sample/Basics/Sources/Near/main.swift")
            .map { $0.replacing(".automatic", with: source) }
        var remaining = try Self.lines(of: "Tests/Sample/Basics/Sources/\(name)/main.swift")[...]
        for line in program {
            let place = try #require(remaining.firstIndex(of: line), "\(line)")
            remaining = remaining[(place + 1)...]
        }
        #expect(remaining.isEmpty)
    }

    @Test func `every step of the tutorial is in an example, as consecutive lines`() throws {
        let folder = Self.examples.appending(path: "../Tutorials").standardizedFileURL
        let steps = try Self.texts(below: folder)
        #expect(steps.count >= 5)
        let examples = try Self.compiled()
        for step in steps {
            let lines = Self.lines(step).filter { !$0.contains("import ") }
            #expect(examples.contains { example in example.indices.contains { example[$0...].starts(with: lines) } })
        }
    }

    /// The examples of the documentation comments in `source`: lines indented by four spaces after an empty line.
    private static func documentedExamples(_ source: String) -> [[String]] {
        var examples: [[String]] = []
        var (isEmptyLine, isExample) = (false, false)
        for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
            let comment = line.drop { $0 == " " }
            let text = comment.hasPrefix("///") ? comment.dropFirst(3) : nil
            if let text, text.hasPrefix("     "), isEmptyLine || isExample {
                if !isExample { examples.append([]) }
                examples[examples.count - 1] += lines(text)
                isExample = true
            } else if text != "" {
                isExample = false
            }
            isEmptyLine = text == ""
        }
        return examples
    }

    @Test func `every example of a documentation comment is in a compiled file, as consecutive lines`() throws {
        let root = Self.examples.appending(path: "../../..").standardizedFileURL
        let package = try String(contentsOf: root.appending(path: "Package.swift"), encoding: .utf8)
        let products = package.matches(of: /\.library\(name: "(?<name>\w+)"/).map { String($0.output.name) }
        let documented = try products.flatMap { try Self.texts(below: root.appending(path: "Sources/\($0)")) }
            .flatMap { Self.documentedExamples($0) }
        #expect(products.count >= 11 && documented.count >= 50)
        let examples = try Self.compiled()
        for lines in documented {
            let isThere = examples.contains { example in
                example.indices.contains { example[$0...].starts(with: lines) }
            }
            #expect(isThere, "\(lines.joined(separator: "\n"))")
        }
    }

    @Test func `every part of Core Location has a result, and each difference a reason`() throws {
        let lines = try Self.lines(of: "docs/library.docc/ComingFromCoreLocation.md")
        let rows = lines.filter { $0.hasPrefix("|") }.map { row in
            row.split(separator: "|", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
        }
        // Four columns between the marks at the edges; the table of problems has two.
        let parts = rows.filter { $0.count == 6 && $0[3] != "result" && !$0[1].hasPrefix("-") }
        let count = Dictionary(grouping: parts, by: { $0[3] }).mapValues(\.count)
        let results = ["works", "differs", "none", "addition"].map { count[$0, default: 0] }
        #expect(results.reduce(0, +) == parts.count)
        for part in parts { #expect(!part[1].isEmpty && !part[2].isEmpty, "\(part)") }
        for part in parts where part[3] != "works" { #expect(!part[4].isEmpty, "\(part)") }
        for part in parts {
            #expect((part[3] == "addition") == (part[1] == "–") && (part[3] == "none") == (part[2] == "–"))
        }
        let sentence = """
            The tables below have the result for \(parts.count - results[3]) parts of Core Location: \(results[0]) \
            work as there, \(results[1]) differ, and \(results[2]) are missing, each with the reason. Of those that \
            work, some can do more. \(results[3]) parts exist only here.
            """
        #expect(lines.contains(sentence))
    }

    private static func isPartOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...: true
        default: false
        }
    }

    @Test func `every symbol of the table is used in a test`() throws {
        let text = try String(contentsOf: Self.article, encoding: .utf8)
        let symbols = Set(text.matches(of: /``\/(?<path>[^`]+)``/).map { String($0.output.path) })
        #expect(symbols.count > 40)
        let root = Self.examples.appending(path: "../../..").standardizedFileURL
        let tests = try Self.texts(below: root.appending(path: "Tests")) + Self.texts(below: Self.examples)
        let words = Set(
            tests.joined(separator: "\n").utf8.split { !Self.isPartOfWord($0) }.map { String(Substring($0)) })
        for symbol in symbols.sorted() {
            // Initializers are used by their type's name.
            let names = symbol.split(separator: "/").map { $0.prefix { $0 != "(" } }.filter { $0 != "init" }
            guard names.count > 1, let name = names.last else { continue }
            let isUsed = words.contains(String(name))
            #expect(isUsed, "\(symbol)")
        }
    }
}
