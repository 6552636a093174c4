import BeaconMonitoring
import Foundation
import JSON
import ProgramSupport
import Testing

@testable import CommandSupport
@testable import GatewayCommands

/// Texts of advertisers that could control a terminal.
@Suite struct HarmlessScanTests {
    @Test func `names and conditions cannot control a terminal, in the columns and the JSON of scan`() throws {
        let text = LineBuffer.lineForTerminals { $0.write("name", HostileText.evil) }
        HostileText.expectHarmless(Array(text.utf8))
        #expect(try object(text)["name"] as? String == HostileText.evil)
        let row = BeaconTable.Row(
            beacon: badge(1), measuredPower: -59, strength: nil, distance: nil, proximity: .unknown, rate: 0,
            age: .zero,
            reports: 1, address: nil, adapter: 0, conditions: [HostileText.evil], name: HostileText.evil)
        for line in ScanPage([row], width: 200).fitted(title: "", footing: "", columns: 200, rows: 10) {
            HostileText.expectHarmless(Array(line.utf8))
        }
    }
}
