import Reports
import Testing

@Suite struct PageSkeletonTests {
    @Test func `each placeholder is replaced by its value, and one without a value by nothing`() {
        let skeleton = PageSkeleton(Array("a{{title}}b{{script}}{{title}}c".utf8))
        #expect(skeleton.page([.title: "1"]) == "a1b1c")
    }

    @Test func `a placeholder in a value is not replaced`() {
        let skeleton = PageSkeleton(Array("<{{title}}|{{body}}>".utf8))
        #expect(skeleton.page([.title: "{{body}}", .body: "{{title}}"]) == "<{{body}}|{{title}}>")
    }

    @Test(arguments: [
        "", "{{", "}}", "{{}}", "a{{other}}b", "{{{title", "{{ title }}", "}}{{title", "{{Title}}{{", "title}}",
    ])
    func `text that is not a placeholder stays`(text: String) {
        #expect(PageSkeleton(Array(text.utf8)).page([.title: "1"]) == text)
    }

    @Test func `a frame has the parts of a page before and after the body`() {
        let skeleton = PageSkeleton(Array("a{{title}}b{{body}}c{{title}}d".utf8))
        let frame = skeleton.frame([.title: "1"])
        #expect(frame.before == "a1b" && frame.after == "c1d")
        #expect(PageSkeleton(Array("a{{title}}".utf8)).frame([.title: "1"]) == ("a1", ""))
    }

    @Test func `bytes that are not UTF-8 become U+FFFD`() {
        #expect(PageSkeleton([0x61, 0xFF, 0x62]).page([:]) == "a\u{FFFD}b")
    }
}
