import Foundation
import ProgramSupport

/// Looks for what the core must not have: a way to know the time, or a module that gives one.
///
/// The libraries of the core are driven by the time that is passed in; one that reads a clock makes a replay differ
/// from what was lived (rules T1, T4).
enum CoreScan {
    /// Something that the core must not have.
    struct Violation: Hashable, CustomStringConvertible {
        var line: Int
        var what: String
        var description: String { "line \(line): \(what)" }
    }

    /// What the core may import: Synchronization has locks and atomics, and no clock; ServiceLifecycle, which a trait asks for,
    /// has the protocol that a monitor conforms to, and nothing of it is called but what ends a run.
    static let modules: Set<String> = ["BaseTypes", "BluetoothLE", "HeapModule", "ServiceLifecycle", "Synchronization"]

    /// Words that tell the time, or wait for one.
    static let words: Set<String> = [
        "ContinuousClock", "SuspendingClock", "UTCClock", "Clock", "clock_gettime", "clock_gettime_nsec_np",
        "gettimeofday", "mach_absolute_time", "mach_continuous_time", "Date", "DispatchTime", "DispatchWallTime",
        "DispatchQueue", "DispatchSource", "CFAbsoluteTimeGetCurrent", "ProcessInfo", "systemUptime", "usleep",
        "nanosleep", "clock_nanosleep", "timespec_get", "timerfd_create", "strftime", "localtime", "gmtime", "mktime",
        "ftime", "times", "getrusage", "Timer", "RunLoop", "rdtsc", "SystemRandomNumberGenerator",
    ]

    /// What is wrong with a Swift source, outside of its comments and texts.
    static func violations(in source: String) -> [Violation] {
        var found: [Violation] = []
        for (index, line) in code(of: source).split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
            if let place = words.firstIndex(of: "import") {
                // `public import struct Foundation.Date` names its module behind the kind.
                let kinds: Set<String> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
                let module = words[(place + 1)...].first { !kinds.contains($0) } ?? ""
                if !modules.contains(module) { found.append(Violation(line: index + 1, what: "import \(module)")) }
            }
            for word in words where tellsTime(word) { found.append(Violation(line: index + 1, what: word)) }
            // To wait until an instant is up to whom the core is given as its clock; any other wait has a clock of its own.
            let squeezed = String(line.filter { $0 != " " })
            if squeezed.contains("Task.sleep")
                || squeezed.ranges(of: "sleep(").count > squeezed.ranges(of: "sleep(until").count
            {
                found.append(Violation(line: index + 1, what: "sleep"))
            }
            // C's functions bear names that many things here rightly have; called, they are C's.
            for name in ["time", "clock"] where words.contains(name) && isCalled(name, in: line) {
                found.append(Violation(line: index + 1, what: name))
            }
        }
        return found
    }

    private static func tellsTime(_ word: String) -> Bool {
        // What is linked by its name can be anything.
        words.contains(word) || word.hasPrefix("dispatch_") || word == "_silgen_name" || word == "dlsym"
    }

    /// Whether `time(nil)`, `time(&now)` or `clock()` stands in the line: C's calls, not a method of ours.
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

    /// The source with its comments and the insides of its texts blanked out; what stands in `\(…)` is code.
    static func code(of source: String) -> String {
        var result = ""
        var rest = Substring(source)
        var comments = 0
        // The ends of the texts that are open; an interpolation's parentheses are counted on top of its text.
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
