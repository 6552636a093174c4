import Testing

@testable import BeaconMonitoring

@Suite struct AdapterTableTests {
    private func identify(_ name: String, in table: inout AdapterTable) throws -> AdapterIndex {
        let adapter = table.identify(name, nil, forgetAfter: nil, at: 0)
        return try #require(adapter)
    }

    @Test func `the shared clock runs while an adapter scans, and an outage of all counts from the last stop`() throws {
        var table = AdapterTable(locationSource: nil, start: 0)
        let (one, other) = (try identify("hci0", in: &table), try identify("hci1", in: &table))
        table.start(one, at: 10)
        table.start(other, at: 20)
        table.stop(one, since: 30, at: 30)
        #expect(table.reading(of: .together, at: 40) == 30)
        table.stop(other, since: 35, at: 40)
        #expect(table.reading(of: .together, at: 100) == 30)
        #expect(table.reading(of: one, at: 100) == 20)
        // All adapters stopped at 35, the later one of the two stops.
        #expect(!table.isOut(.together, for: 10, at: 44))
        #expect(table.isOut(.together, for: 10, at: 45))
    }

    @Test func `adapters that do not scan are counted until they are removed`() throws {
        var table = AdapterTable(locationSource: nil, start: 0)
        let (one, other) = (try identify("hci0", in: &table), try identify("hci1", in: &table))
        #expect(table.silentCount == 2)
        table.start(one, at: 0)
        table.start(other, at: 0)
        #expect(table.silentCount == 0)
        table.stop(one, since: 1, at: 1)
        #expect(table.silentCount == 1)
        table.remove(one)
        #expect(table.silentCount == 0)
        table.start(one, at: 2)
        #expect(table.silentCount == 0)
    }

    @Test func `G3: the location source does not count as one of the adapters`() throws {
        var table = AdapterTable(locationSource: "gps", start: 0)
        let source = try #require(table.locationSource)
        #expect(table[source].name == "gps")
        table.start(source, at: 10)
        #expect(table.silentCount == 0)
        #expect(!table.clock(of: .together).isListening)
        #expect(table.index(called: "gps") == nil)
        let adapter = try identify("hci0", in: &table)
        #expect(adapter != source)
        #expect(table.index(called: "hci0") == adapter)
    }

    @Test func `N4: a remembered adapter counts as not scanning only after it is identified again`()
        throws
    {
        var table = AdapterTable(locationSource: nil, start: 0)
        let remembered = table.remember("hci0", nil, at: 0)
        let adapter = try #require(remembered)
        #expect(table.silentCount == 0)
        #expect(table.known("hci0", nil) == nil)
        #expect(try identify("hci0", in: &table) == adapter)
        #expect(table.silentCount == 1)
        #expect(table.known("hci0", nil) == adapter)
    }

    @Test func `L7: each new name is returned once`() throws {
        var table = AdapterTable(locationSource: "gps", start: 0)
        _ = try identify("hci0", in: &table)
        #expect(table.takeNewNames().map(\.name) == ["gps", "hci0"])
        _ = try identify("hci0", in: &table)
        #expect(!table.hasNewNames)
        _ = try identify("hci1", in: &table)
        #expect(table.takeNewNames().map(\.name) == ["hci1"])
        #expect(table.takeNewNames().isEmpty)
    }
}
