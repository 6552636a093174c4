"""Damages sources."""

import unittest

from world import said, tree

from house import style


def with_source(text):
    return said(style.check(tree().with_text("Sources/Values/A.swift", text)))


class Zeros(unittest.TestCase):
    def test_a_whole_repository_has_nothing_to_say(self):
        self.assertEqual(said(style.check(tree())), [])

    def test_each_is_found_in_its_line(self):
        for text in ["final class A: @unchecked Sendable {}", "nonisolated(unsafe) var a = 1", "let a = try! b()",
                     "let a = b as! C", "fatalError()", "// TODO: later", "import Foundation"]:
            found = with_source("let one = 1\n" + text)
            self.assertEqual(len(found), 1, text)
            self.assertIn("Sources/Values/A.swift:", found[0])

    def test_words_about_them_are_none(self):
        self.assertEqual(with_source('// no try! here\nlet a = "fatalError()" // @unchecked\n'), [])

    def test_a_bridge_to_foundation_says_so_in_its_name(self):
        self.assertEqual(said(style.check(tree().with_text("Sources/ValuesFoundation/A.swift", "import Foundation"))), [])


class Hollow(unittest.TestCase):
    def test_words_that_would_stand_anywhere_are_found_in_their_line(self):
        for words in ["Makes one.", "Whose it is.", "What it is called.", "Whether they are.", "How many.", "Its name."]:
            found = with_source(f"import A\n    /// {words}\n    let a = 1\n")
            self.assertEqual(len(found), 1, words)
            self.assertIn("Sources/Values/A.swift:2", found[0])

    def test_a_sentence_that_begins_like_them_is_none(self):
        for words in ["Whose it is, by the gateway's name.", "How many there are in an hour.", "The same under another name."]:
            self.assertEqual(with_source(f"/// {words}\nlet a = 1\n"), [], words)


class Formats(unittest.TestCase):
    def test_tests_may_unwrap_by_force_and_are_formatted_alike_else(self):
        for tests, findings in [('{"rules": {"NeverForceUnwrap": false, "A": true}, "lineLength": 120}', 0),
                                ('{"rules": {"NeverForceUnwrap": false, "A": false}, "lineLength": 120}', 1),
                                ('{"rules": {"NeverForceUnwrap": false, "A": true}, "lineLength": 121}', 1)]:
            world = tree().with_text(".swift-format", '{"rules": {"NeverForceUnwrap": true, "A": true}, "lineLength": 120}')
            self.assertEqual(len(said(style.check(world.with_text("Tests/.swift-format", tests)))), findings, tests)


class Version(unittest.TestCase):
    def test_the_changelog_is_about_the_version_that_the_program_says(self):
        for path, text in [("CHANGELOG.md", "## [1.3.0] - unreleased"), ("CHANGELOG.md", "## [1.2.0] - soon"),
                           ("Sources/tool/Program.swift", "enum Program {}"),
                           ("Sources/Values/Program.swift", 'enum Program { static let version = "1.2.0" }')]:
            self.assertEqual(len(said(style.check(tree().with_text(path, text)))), 1, text)


class Variables(unittest.TestCase):
    def found(self, **sources):
        world = tree()
        for name, text in sources.items():
            world = world.with_text(f"Tests/ValuesTests/{name}.swift", text)
        return said(style.check(world))

    def test_each_suite_has_its_own(self):
        one, two = 'environment("BEACON_RUNS", default: 3)', 'environment("BEACON_KILLS", default: 3)'
        self.assertEqual(self.found(A=one + one, B=two), [])
        found = self.found(A=one, B='ProcessInfo.processInfo.environment["BEACON_RUNS"]')
        self.assertEqual(len(found), 1)
        self.assertIn("Tests/ValuesTests/B.swift", found[0])

    def test_a_seed_of_ones_own_is_found(self):
        self.assertEqual(len(self.found(A='environment("RANGING_SEED", default: 1)')), 1)


if __name__ == "__main__":
    unittest.main()
