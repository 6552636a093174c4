import Foundation
import ProgramSupport
import Testing

/// Rules T1 and T4 by construction: no code of the core can read the time.
@Suite struct CoreClockTests {
    @Test(arguments: [("BaseTypes", 4), ("BluetoothLE", 11), ("BeaconMonitoring", 11)])
    func `T1, T4: the core reads no clock, waits for none and imports no module that has one`(
        target: String, filesMin: Int
    ) throws {
        let folder = Fixtures.sources.appendingPathComponent(target)
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        #expect(names.count >= filesMin)
        for name in names.sorted() {
            let source = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
            #expect(CoreScan.violations(in: source) == [], "\(target)/\(name)")
        }
    }

    @Test(arguments: [
        ("import Foundation", "import Foundation"),
        ("public import FoundationEssentials", "import FoundationEssentials"),
        ("@preconcurrency import Dispatch", "import Dispatch"), ("import struct Foundation.Date", "import Foundation"),
        ("    import Glibc", "import Glibc"), ("#if canImport(Musl)\nimport Musl\n#endif", "import Musl"),
        ("let now = ContinuousClock.now", "ContinuousClock"), ("try await Task.sleep(for: .seconds(1))", "sleep"),
        ("Task.sleep(until: x)", "sleep"), ("sleep(1)", "sleep"),
        ("let a = SuspendingClock()", "SuspendingClock"), ("clock_gettime(CLOCK_BOOTTIME, &now)", "clock_gettime"),
        ("let d = Date()", "Date"), ("DispatchTime.now().uptimeNanoseconds", "DispatchTime"),
        ("let t = time(nil)", "time"), ("let t = Int(clock())", "clock"), ("/* a */ nanosleep(&t, nil)", "nanosleep"),
        (#"let text = "at \(Date())""#, "Date"), (#"let a = "//"; usleep(1)"#, "usleep"),
        ("func f<C: Clock>(_ clock: C) {}", "Clock"), (#"@_silgen_name("clock_gettime") func f()"#, "_silgen_name"),
        ("let text = \"\"\"\n  \\(ContinuousClock.now)\n  \"\"\"", "ContinuousClock"),
    ])
    func `the scan finds code that reads a clock, and imports of modules that have one`(source: String, what: String) {
        #expect(CoreScan.violations(in: source).map(\.what).contains(what), "\(source)")
    }

    @Test(arguments: [
        "import BaseTypes\nimport BluetoothLE\npublic import HeapModule", "// ContinuousClock.now, as live",
        "/* Date() /* nested */ Date() */",
        "/// Live it is CLOCK_BOOTTIME; never `Date()`.", #"let text = "import Foundation; Date()""#,
        "func advance(to time: Instant) { clock(at: time) }", "let a = #\"Date() \\(Date()) \"# + \"\"",
        "adapters[0].clock()", "try await clock.sleep(until: deadline)", "let dates: [WallDate] = []",
    ])
    func `the scan accepts comments, strings and names that only look like a clock`(source: String) {
        #expect(CoreScan.violations(in: source) == [], "\(source)")
    }

    @Test func `a violation has the number of its line`() {
        let source = "import BluetoothLE\n/* two\nlines */\nlet a = \"\"\"\n  x\n  \"\"\"\nlet now = Date()\n"
        #expect(CoreScan.violations(in: source) == [CoreScan.Violation(line: 7, what: "Date")])
    }
}
