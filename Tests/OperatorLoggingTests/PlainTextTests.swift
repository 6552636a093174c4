import OperatorLogging
import ProgramSupport
import Testing

/// What comes from elsewhere, and what a terminal or a spreadsheet would make of it.
@Suite struct PlainTextTests {
    @Test func `octets that are no text, and what a terminal would obey, become harmless`() {
        HostileText.expectHarmless(Array(PlainText.safe(Array(HostileText.evil.utf8) + [0xFF, 0x9B]).utf8))
    }

    @Test func `a cell is quoted by its octets, whatever is combined with them`() {
        #expect(PlainText.csv("staff") == "staff")
        #expect(PlainText.csv("a,b") == "\"a,b\"")
        #expect(PlainText.csv("a\"\u{301},b") == "\"a\"\"\u{301},b\"")
        #expect(PlainText.csv("=\u{301}1+1") == "\"'=\u{301}1+1\"")
        #expect(PlainText.csv(" -1") == "\"' -1\"")
        #expect(PlainText.csv("＠x") == "\"'＠x\"")
        #expect(PlainText.csv("a\r\nb") == "a__b")
        // Joiners are letters of some scripts.
        #expect(PlainText.safe("می\u{200C}خواهم") == "می\u{200C}خواهم")
    }
}
