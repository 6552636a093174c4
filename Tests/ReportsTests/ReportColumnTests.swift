import CommandSupport
import JSON
import Testing

@testable import Reports

/// The headings of each form of each report. They must not change, because subscribers and spreadsheets find fields of
/// CSV by their position.
@Suite struct ReportColumnTests {
    private func headings<Row>(_ columns: [ReportColumn<Row>]) -> (csv: String, table: String, page: String) {
        let columns = ReportColumns(columns, ZonedTime(isUTC: true))
        func text(_ write: (inout LineBuffer) -> Void) -> String {
            var buffer = LineBuffer()
            write(&buffer)
            return buffer.text
        }
        return (
            text { columns.writeHeadings(into: &$0) },
            columns.tableTitles.map { $0.text }.joined(separator: "|"),
            text { columns.startTable(into: &$0) }.split(separator: "<th>").dropFirst()
                .map { $0.prefix { $0 != "<" } }.joined(separator: "|")
        )
    }

    @Test(arguments: [
        (true, "LINE|ARRIVAL|LAST SIGHTING|DURATION|NAME|SIGHTINGS|RSSI|END"),
        (false, "LINE|ARRIVAL|LAST SIGHTING|DURATION|NAME|SIGHTINGS|RSSI|GATEWAY|END"),
    ])
    func `visits has these columns, and GATEWAY in a table of several gateways`(isOneGateway: Bool, table: String) {
        let headings = headings(VisitsRow.columns(isOneGateway: isOneGateway))
        #expect(
            headings.csv
                == "monitor,identifier,uuid,major,minor,arrival,departure,duration,sightings,rssi_minimum,rssi_mean,rssi_maximum,end,scope,gateway,sequence,began_before,goes_on,name,group,hours,arrival_offset,departure_offset,not_known_since,not_known_since_offset\r\n"
        )
        #expect(headings.table == table)
        #expect(headings.page == "Name|Arrival|Last sighting|Time|Sightings|RSSI|Gateway|Line")
    }

    @Test func `visits --now has these columns`() {
        let headings = headings(PresentRow.columns)
        #expect(
            headings.csv
                == "scope,name,group,conditions,uuid,major,minor,since,last_heard,here,not_known_since,gateway,sequence,since_offset,last_heard_offset,not_known_since_offset\r\n"
        )
        #expect(headings.table == "LINE|SINCE|LAST SIGHTING|NAME|GATEWAY|STATE")
        #expect(headings.page == "Name|Since|Last sighting|Gateway|State|Line")
    }

    @Test(arguments: [(OccupancyReport.Scope.beacon, "Beacons"), (.condition, "Distinct")])
    func `occupancy has these columns, and counts beacons or distinct conditions`(
        scope: OccupancyReport.Scope, title: String
    ) {
        let headings = headings(OccupancyRow.columns(scope))
        #expect(
            headings.csv
                == "from,to,scope,name,most,mean,arrivals,departures,distinct,not_known,partly_known,from_offset,to_offset\r\n"
        )
        #expect(headings.page == "Time|Peak|Mean|In|Out|\(title)|Unknown")
        #expect(headings.table == headings.page.uppercased())
    }

    @Test(arguments: [(0, "0.00"), (7, "0.07"), (100, "1.00"), (12_345, "123.45")])
    func `a number of hundredths is printed with two decimals`(hundredths: Int64, text: String) {
        #expect(ReportNumber.text(hundredths, decimals: 2) == text)
    }

    // MARK: Alignment

    private func table(_ rows: [[String]], isNumber: [Bool]) -> String {
        var table = TextTable()
        var buffer = LineBuffer()
        for row in rows {
            table.add(zip(row, isNumber).map { TextTable.Cell($0, 4, isNumber: $1) }, into: &buffer)
        }
        table.end(into: &buffer)
        return buffer.text
    }

    @Test func `cells are below their titles, whatever their characters are`() {
        let rows = [
            ["NAME", "SEEN", "END"], ["Ada", "1", "left"], ["山田太郎", "20", "left"], ["Zoe\u{308} 👩‍🔧", "3", "left"],
            ["محمد علي", "4", "left"], ["a\u{202E}b", "5", "left"], ["", "6", "left"],
        ]
        #expect(
            table(rows, isNumber: [false, true, false]) == """
                NAME      SEEN  END
                Ada          1  left
                山田太郎    20  left
                Zoe\u{308} 👩‍🔧       3  left
                محمد علي     4  left
                a_b          5  left
                             6  left

                """)
    }

    @Test func `a cell of more than 64 columns moves the next cells of its row only as far as it must`() {
        let names = [String(repeating: "山", count: 32), String(repeating: "山", count: 33), "Ada"]
        let rows = [["NAME", "SEEN", "END"]] + names.map { [$0, "1", "left"] }
        let space = String(repeating: " ", count: 60)
        #expect(
            table(rows, isNumber: [false, true, false]) == """
                NAME\(space)  SEEN  END
                \(names[0])     1  left
                \(names[1])   1  left
                Ada \(space)     1  left

                """)
        #expect(
            table([["NAME", "SEEN"], [names[1] + "a", "1000"], ["Ada", "1"]], isNumber: [false, false]) == """
                NAME  SEEN
                \(names[1])a  1000
                Ada   1

                """)
    }
}
