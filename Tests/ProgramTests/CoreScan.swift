import Foundation
import ProgramSupport

/// Finds code that the core must not have: code that reads the time, and imports of modules that provide it.
///
/// The time is passed to the libraries of the core. If one of them reads a clock, a replay differs from the live run
/// (rules T1, T4).
enum CoreScan {
    /// Code that the core must not have.
    struct Violation: Hashable, CustomStringConvertible {
        var line: Int
        var what: String
        var description: String { "line \(line): \(what)" }
    }

    /// The modules that the core is allowed to import. Synchronization has locks and atomics, but no clock.
    /// ServiceLifecycle, which a package trait enables, has the protocol that a monitor conforms to. The core calls
    /// only its function that ends a run.
    static let modules: Set<String> = ["BaseTypes", "BluetoothLE", "HeapModule", "ServiceLifecycle", "Synchronization"]

    /// Names of functions and types that provide the time, or wait for one.
    static let words: Set<String> = [
        "ContinuousClock", "SuspendingClock", "UTCClock", "Clock", "clock_gettime", "clock_gettime_nsec_np",
        "gettimeofday", "mach_absolute_time", "mach_continuous_time", "Date", "DispatchTime", "DispatchWallTime",
        "DispatchQueue", "DispatchSource", "CFAbsoluteTimeGetCurrent", "ProcessInfo", "systemUptime", "usleep",
        "nanosleep", "clock_nanosleep", "timespec_get", "timerfd_create", "strftime", "localtime", "gmtime", "mktime",
        "ftime", "times", "getrusage", "Timer", "RunLoop", "rdtsc", "SystemRandomNumberGenerator",
    ]

    /// Returns the violations in a Swift source, outside of its comments and strings.
    static func violations(in source: String) -> [Violation] {
        var found: [Violation] = []
        for (index, line) in code(of: source).split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
            if let place = words.firstIndex(of: "import") {
                // In `public import struct Foundation.Date`, the module follows the kind.
                let kinds: Set<String> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
                let module = words[(place + 1)...].first { !kinds.contains($0) } ?? ""
                if !modules.contains(module) { found.append(Violation(line: index + 1, what: "import \(module)")) }
            }
            for word in words where hasTime(word) { found.append(Violation(line: index + 1, what: word)) }
            // `sleep(until:)` is allowed, because it uses the clock that the core receives. Any other wait reads a
            // clock of its own.
            let squeezed = String(line.filter { $0 != " " })
            if squeezed.contains("Task.sleep")
                || squeezed.ranges(of: "sleep(").count > squeezed.ranges(of: "sleep(until").count
            {
                found.append(Violation(line: index + 1, what: "sleep"))
            }
            // This project has other declarations with the names of these C functions, so only calls are found.
            for name in ["time", "clock"] where words.contains(name) && isCalled(name, in: line) {
                found.append(Violation(line: index + 1, what: name))
            }
        }
        return found
    }

    private static func hasTime(_ word: String) -> Bool {
        // A function that is linked by its name can be any function.
        words.contains(word) || word.hasPrefix("dispatch_") || word == "_silgen_name" || word == "dlsym"
    }

    /// Returns whether the line has `time(nil)`, `time(&now)` or `clock()`: a call of C, not of a method of this
    /// project.
    private static func isCalled(_ name: String, in line: some StringProtocol) -> Bool {
        let squeezed = String(line.filter { $0 != " " })
        return ["(nil)", "(&", "()"].contains { end in
            squeezed.ranges(of: name + end).contains { range in
                let before =
                    range.lowerBound > squeezed.startIndex ? squeezed[squeezed.index(before: range.lowerBound)] : " "
                return !(before.isLetter || before.isNumber || before == "_" || before == ".")
            }
        }
    }

    /// Returns the source without its comments and the contents of its strings. The code in `\(…)` stays.
    static func code(of source: String) -> String {
        var result = ""
        var rest = Substring(source)
        var comments = 0
        // The open strings with their ends. If an interpolation is open, its parentheses are counted in the entry of
        // its string.
        var texts: [(end: String, escape: String, parentheses: Int)] = []
        func take(_ count: Int) { rest = rest.dropFirst(count) }
        while let character = rest.first {
            if comments > 0 {
                if rest.hasPrefix("/*") {
                    comments += 1; take(2)
                } else if rest.hasPrefix("*/") {
                    comments -= 1; take(2)
                } else {
                    if character == "\n" { result.append("\n") }; take(1)
                }
                continue
            }
            if let text = texts.last, text.parentheses == 0 {
                if rest.hasPrefix(text.escape + "(") {
                    texts[texts.count - 1].parentheses = 1
                    take(text.escape.count + 1)
                } else if rest.hasPrefix(text.end) {
                    texts.removeLast()
                    take(text.end.count)
                } else if rest.hasPrefix(text.escape) {
                    take(text.escape.count + 1)
                } else {
                    if character == "\n" { result.append("\n") }
                    take(1)
                }
                result.append(" ")
                continue
            }
            if rest.hasPrefix("//") { rest = rest.drop { $0 != "\n" }; continue }
            if rest.hasPrefix("/*") { comments = 1; take(2); continue }
            let hashes = rest.prefix { $0 == "#" }
            let behind = rest.dropFirst(hashes.count)
            if behind.first == "\"" {
                let quotes = behind.hasPrefix("\"\"\"") ? "\"\"\"" : "\""
                texts.append((quotes + hashes, "\\" + hashes, 0))
                take(hashes.count + quotes.count)
                result.append(" ")
                continue
            }
            if !texts.isEmpty {
                if character == "(" { texts[texts.count - 1].parentheses += 1 }
                if character == ")" { texts[texts.count - 1].parentheses -= 1 }
            }
            result.append(character)
            take(1)
        }
        return result
    }
}
