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

    @Test(arguments: [
        ("", 0), ("Ada", 3), ("Zoë", 3), ("Zoe\u{308}", 3), ("山田太郎", 8), ("ｱﾀﾞ", 3), ("Ａｄａ", 6), ("가", 2),
        ("\u{1100}\u{1161}\u{11A8}", 2), ("か\u{3099}", 2), ("محمد علي", 8), ("می\u{200C}خواهم", 7), ("ก\u{E34}", 1),
        ("กำ", 2), ("क्षि", 3),
        ("\u{301}", 0), ("\u{200D}", 0), ("\u{3099}", 0), ("\r\n", 0), ("\u{7F}", 0), ("…", 1), ("“x”", 3), ("█", 1),
    ])
    func `a character takes two columns if it is wide, and none if it only changes another one`(
        text: String, columns: Int
    ) {
        #expect(PlainText.columns(of: text) == columns)
        #expect(PlainText.columns(of: "a\(text)b") == columns + 2)
    }

    @Test(arguments: [
        ("🔧", 2), ("👩‍🔧", 2), ("👩🏽‍🔧", 2), ("☝🏽", 2), ("👨‍👩‍👧‍👦", 2), ("❤", 1), ("❤\u{FE0F}", 2), ("❤\u{FE0F}‍🔥", 2), ("☎", 1),
        ("☎\u{FE0F}", 2), ("©", 1), ("1\u{FE0F}\u{20E3}", 2), ("🇩🇪", 2), ("🇩", 1), ("🇩🇪🇦🇹", 4), ("⌚", 2), ("Zoë 👩‍🔧", 6),
    ])
    func `an emoji takes two columns, however many parts it has`(text: String, columns: Int) {
        #expect(PlainText.columns(of: text) == columns)
    }

    @Test func `the first and last characters of wide ranges are wide, and those next to them are not`() throws {
        for (range, width) in [
            (0x20...0x7E, 1), (0xA1...0xAC, 1), (0x1100...0x115F, 2), (0x1160...0x1161, 1), (0x2E7F...0x2E7F, 1),
            (0x2E80...0x2E80, 2), (0x303E...0x303E, 2), (0x303F...0x303F, 1), (0x4DBF...0x4DBF, 2),
            (0x4DC0...0x4DFF, 1), (0x4E00...0x9FFF, 2), (0xABFF...0xABFF, 1), (0xAC00...0xD7A3, 2),
            (0xFF01...0xFF60, 2), (0xFF61...0xFF9F, 1), (0xFFE0...0xFFE6, 2), (0xFFE8...0xFFE8, 1),
            (0x1F1E6...0x1F1FF, 1), (0x1F600...0x1F64F, 2), (0x20000...0x2A6DF, 2),
        ] {
            for value in range {
                let scalar = try #require(Unicode.Scalar(UInt32(value)))
                #expect(PlainText.columns(of: Character(scalar)) == width, "\(String(value, radix: 16))")
            }
        }
    }

    @Test func `text is padded to columns, and longer text is not shortened`() {
        #expect(PlainText.padded("山田", to: 6) == "山田  ")
        #expect(PlainText.padded("山田", to: 6, isNumber: true) == "  山田")
        #expect(PlainText.padded("山田", to: 4) == "山田")
        #expect(PlainText.padded("山田", to: 3) == "山田")
    }
}
