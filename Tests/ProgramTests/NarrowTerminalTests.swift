import Foundation
import ProgramSupport
import Testing

/// What a terminal of few columns shows.
@Suite struct NarrowTerminalTests {
    /// The words of a text, however it is broken into lines.
    private func words(_ text: String) -> [Substring] { text.split { $0 == " " || $0 == "\n" } }

    private func expectWhole(_ ending: Ending, columns: Int, _ location: SourceLocation = #_sourceLocation) {
        for line in ending.lines {
            // A word that is longer than the terminal can't be whole on it.
            let isWord = !line.drop { $0 == " " }.contains(" ")
            #expect(line.count <= columns || isWord, "\(line)", sourceLocation: location)
        }
    }

    @Test func `doctor breaks its lines between words at 60 columns, and not at all in a pipe`() throws {
        let config = Fixtures.tests.deletingLastPathComponent().appendingPathComponent("Config/gateway.yaml").path
        let narrow = try Gateway.run(columns: 60, "doctor", "--config", config)
        expectWhole(narrow, columns: 60)
        let wide = try Gateway.run("doctor", "--config", config)
        // How much room a disk has left is not the same twice.
        func stable(_ text: String) -> [Substring] { words(text).filter { !$0.contains(where: \.isNumber) } }
        #expect(stable(narrow.text) == stable(wide.text))
        #expect(wide.lines.contains { $0.count > 60 } && narrow.lines.count > wide.lines.count)
    }

    @Test func `mistakes and usage are broken between words at 60 columns`() throws {
        let usage = try Gateway.run(columns: 60, "bogus")
        #expect(usage.status == 64)
        expectWhole(usage, columns: 60)
        let missing = try Gateway.run(columns: 60, "replay", Fixtures.path("hcidump-gimbal.raw"))
        #expect(missing.status == 65 && missing.lines.count > 2)
        expectWhole(missing, columns: 60)
        #expect(words(missing.text) == words(try Gateway.run("replay", Fixtures.path("hcidump-gimbal.raw")).errors))
    }
}
