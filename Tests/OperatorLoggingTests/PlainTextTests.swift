import OperatorLogging
import ProgramSupport
import Testing

/// Texts of other origin that could control a terminal or a spreadsheet.
@Suite struct PlainTextTests {
    @Test func `invalid UTF-8 and terminal control characters become harmless`() {
        HostileText.expectHarmless(Array(PlainText.safe(Array(HostileText.evil.utf8) + [0xFF, 0x9B]).utf8))
    }

    @Test func `a cell is quoted by its bytes, whatever characters are combined with them`() {
        #expect(PlainText.csv("staff") == "staff")
        #expect(PlainText.csv("a,b") == "\"a,b\"")
        #expect(PlainText.csv("a\"\u{301},b") == "\"a\"\"\u{301},b\"")
        #expect(PlainText.csv("=\u{301}1+1") == "\"'=\u{301}1+1\"")
        #expect(PlainText.csv(" -1") == "\"' -1\"")
        #expect(PlainText.csv("＠x") == "\"'＠x\"")
        #expect(PlainText.csv("a\r\nb") == "a__b")
        // Some scripts need joiners to write letters.
        #expect(PlainText.safe("می\u{200C}خواهم") == "می\u{200C}خواهم")
    }
}
