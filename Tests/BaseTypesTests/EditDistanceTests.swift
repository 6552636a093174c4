import BaseTypes
import Testing

@Suite struct EditDistanceTests {
    @Test(arguments: [
        ("", "", 0), ("", "abc", 3), ("abc", "abc", 0), ("abc", "abd", 1), ("abc", "ab", 1), ("ab", "abc", 1),
        ("abc", "acb", 1), ("ca", "abc", 3), ("exit_timeout", "exit_timout", 1), ("kitten", "sitting", 3),
    ])
    func `an edit is a replaced, a missing or an additional letter, or two exchanged neighbors`(
        left: String, right: String, distance: Int
    ) {
        #expect(editDistance(Array(left.utf8), Array(right.utf8)) == distance)
        #expect(editDistance(Array(right), Array(left)) == distance)
    }
}
