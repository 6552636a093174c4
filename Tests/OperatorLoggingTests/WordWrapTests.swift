import OperatorLogging
import Testing

@Suite struct WordWrapTests {
    @Test func `a line is broken at the last space before the edge, and the rest is indented`() {
        #expect(WordWrap.wrapped("one two three four", to: 9) == "one two\n  three\n  four")
        // The last column can have a letter, and the space after that letter can be outside.
        #expect(WordWrap.wrapped("abcd efgh", to: 4) == "abcd\n  efgh")
        #expect(WordWrap.wrapped("abcd efgh", to: 9) == "abcd efgh")
        #expect(WordWrap.wrapped("abcd efgh", to: 8) == "abcd\n  efgh")
    }

    @Test func `each line keeps its own indentation, and empty lines stay`() {
        #expect(WordWrap.wrapped("a b\n\n    cc dd ee ff\n", to: 12) == "a b\n\n    cc dd ee\n      ff\n")
        #expect(WordWrap.wrapped("", to: 10) == "")
    }

    @Test func `a word that is longer than the line stays whole`() {
        let path = "/var/lib/beacon-gateway/events"
        #expect(WordWrap.wrapped("see \(path) now", to: 10) == "see\n  \(path)\n  now")
        #expect(WordWrap.wrapped(path, to: 3) == path)
        #expect(WordWrap.wrapped("                    \(path)", to: 8) == "                    \(path)")
    }

    @Test func `a text for an output without columns, such as a pipe, does not change`() {
        let text = "a  line with   spaces, and no end of it"
        #expect(WordWrap.wrapped(text, to: nil) == text)
        #expect(WordWrap.wrapped(text, to: 0) == text)
        #expect(WordWrap.wrapped("trailing          ", to: 10) == "trailing")
    }

    @Test func `no word is broken or lost in any width`() {
        let text =
            "  wrong    kernel  the kernel has no Bluetooth → sudo modprobe bluetooth; in a container: the host’s"
        let words = text.split(separator: " ")
        for columns in 1...120 {
            let wrapped = WordWrap.wrapped(text, to: columns, hanging: 7)
            #expect(wrapped.split { $0 == " " || $0 == "\n" } == words)
            for line in wrapped.split(separator: "\n") {
                #expect(line.count <= columns || line.split(separator: " ").count == 1, "\(columns): \(line)")
            }
        }
    }

    @Test func `wide characters count as two columns`() {
        #expect(WordWrap.wrapped("山田 太郎 さん", to: 9) == "山田 太郎\n  さん")
        #expect(WordWrap.wrapped("山田 太郎 さん", to: 8) == "山田\n  太郎\n  さん")
        #expect(WordWrap.wrapped("Zoe\u{308} 👩‍🔧 x", to: 8) == "Zoe\u{308} 👩‍🔧 x")
        #expect(WordWrap.wrapped("Zoe\u{308} 👩‍🔧 x", to: 7) == "Zoe\u{308} 👩‍🔧\n  x")
        #expect(WordWrap.wrapped("山田太郎さん", to: 3) == "山田太郎さん")
    }
}
