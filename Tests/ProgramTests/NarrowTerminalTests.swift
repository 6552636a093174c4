import Foundation
import ProgramSupport
import Testing

/// Output on a terminal with few columns.
@Suite struct NarrowTerminalTests {
    /// Returns the words of a text, whatever its line breaks are.
    private func words(_ text: String) -> [Substring] { text.split { $0 == " " || $0 == "\n" } }

    private func expectWhole(_ ending: Ending, columns: Int, _ location: SourceLocation = #_sourceLocation) {
        for line in ending.lines {
            // A word that is longer than the terminal is wide cannot be complete in a line.
            let isWord = !line.drop { $0 == " " }.contains(" ")
            #expect(line.count <= columns || isWord, "\(line)", sourceLocation: location)
        }
    }

    @Test func `doctor breaks its lines between words at 60 columns, and does not break them in a pipe`() throws {
        let config = Fixtures.tests.deletingLastPathComponent().appendingPathComponent("Config/gateway.yaml").path
        let narrow = try Gateway.run(columns: 60, "doctor", "--config", config)
        expectWhole(narrow, columns: 60)
        let wide = try Gateway.run("doctor", "--config", config)
        // Words with digits are left out, because the free space of a disk can change between two runs.
        func stable(_ text: String) -> [Substring] { words(text).filter { !$0.contains(where: \.isNumber) } }
        #expect(stable(narrow.text) == stable(wide.text))
        #expect(wide.lines.contains { $0.count > 60 } && narrow.lines.count > wide.lines.count)
    }

    @Test func `errors and usage are broken between words at 60 columns`() throws {
        let usage = try Gateway.run(columns: 60, "bogus")
        #expect(usage.status == 64)
        expectWhole(usage, columns: 60)
        let missing = try Gateway.run(columns: 60, "replay", Fixtures.path("hcidump-gimbal.raw"))
        #expect(missing.status == 65 && missing.lines.count > 2)
        expectWhole(missing, columns: 60)
        #expect(words(missing.text) == words(try Gateway.run("replay", Fixtures.path("hcidump-gimbal.raw")).errors))
    }
}
