import CommandSupport
import ProgramSupport
import Testing

@testable import Reports

/// Values of `TZ` that are time zones.
@Suite struct ZoneTests {
    private let scratch: Scratch
    init() throws {
        scratch = try Scratch()
        _ = try scratch.write("Vienna", "TZif2")
        _ = try scratch.write("zone.tab", "# no zone")
    }

    @Test(arguments: [
        "", "UTC", "Etc/UTC", "Vienna", ":Vienna", "CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT", "<+0330>-3:30", "UTC0",
    ])
    func `a file, a rule and an empty value are zones`(zone: String) {
        #expect(ZonedTime.isKnown(zone: zone, in: scratch.url.path))
    }

    @Test(arguments: [
        "Foo/Bar", "Europe/Viena", "vienna", "zone.tab", ".", "CET", "C-1", "<+03-3", "<>3", "<", ":", " ", "5", "/",
    ])
    func `a value that the C library would read as UTC is not a zone, except a colon alone`(zone: String) {
        #expect(ZonedTime.isKnown(zone: zone, in: scratch.url.path) == (zone == ":"))
    }

    @Test func `the path of a zone file is a zone, and the path of another file is not`() {
        #expect(ZonedTime.isKnown(zone: scratch.path("Vienna"), in: "/nowhere"))
        #expect(!ZonedTime.isKnown(zone: scratch.path("zone.tab"), in: "/nowhere"))
    }
}
