"""Tests of the style checks: each test damages sources, settings of swift-format, the changelog or tests."""

import unittest

from sample import messages, tree

from lint import style


def with_source(text):
    return messages(style.check(tree().with_text("Sources/Values/A.swift", text)))


class Zeros(unittest.TestCase):
    def test_an_undamaged_repository_has_no_findings(self):
        self.assertEqual(messages(style.check(tree())), [])

    def test_each_forbidden_construct_is_reported_with_its_file(self):
        for text in ["final class A: @unchecked Sendable {}", "nonisolated(unsafe) var a = 1", "let a = try! b()",
                     "let a = b as! C", "fatalError()", "// TODO: later", "import Foundation"]:
            found = with_source("let one = 1\n" + text)
            self.assertEqual(len(found), 1, text)
            self.assertIn("Sources/Values/A.swift:", found[0])

    def test_try_fatal_error_and_unchecked_in_comments_and_strings_are_not_reported(self):
        self.assertEqual(with_source('// no try! here\nlet a = "fatalError()" // @unchecked\n'), [])

    def test_a_target_whose_name_ends_with_foundation_may_import_foundation(self):
        self.assertEqual(messages(style.check(tree().with_text("Sources/ValuesFoundation/A.swift", "import Foundation"))), [])


class Formats(unittest.TestCase):
    def test_the_format_of_tests_may_differ_from_the_sources_only_in_force_unwraps(self):
        for tests, findings in [('{"rules": {"NeverForceUnwrap": false, "A": true}, "lineLength": 120}', 0),
                                ('{"rules": {"NeverForceUnwrap": false, "A": false}, "lineLength": 120}', 1),
                                ('{"rules": {"NeverForceUnwrap": false, "A": true}, "lineLength": 121}', 1)]:
            changed = tree().with_text(".swift-format", '{"rules": {"NeverForceUnwrap": true, "A": true}, "lineLength": 120}')
            self.assertEqual(len(messages(style.check(changed.with_text("Tests/.swift-format", tests)))), findings, tests)


class Version(unittest.TestCase):
    def test_a_missing_second_or_different_version_is_reported(self):
        for path, text in [("CHANGELOG.md", "## [1.3.0] - unreleased"), ("CHANGELOG.md", "## [1.2.0] - soon"),
                           ("Sources/tool/Program.swift", "enum Program {}"),
                           ("Sources/Values/Program.swift", 'enum Program { static let version = "1.2.0" }')]:
            self.assertEqual(len(messages(style.check(tree().with_text(path, text)))), 1, text)


class Variables(unittest.TestCase):
    def found(self, **sources):
        changed = tree()
        for name, text in sources.items():
            changed = changed.with_text(f"Tests/ValuesTests/{name}.swift", text)
        return messages(style.check(changed))

    def test_a_second_test_file_that_reads_an_environment_variable_is_reported(self):
        one, two = 'environment("BEACON_RUNS", default: 3)', 'environment("BEACON_KILLS", default: 3)'
        self.assertEqual(self.found(A=one + one, B=two), [])
        found = self.found(A=one, B='ProcessInfo.processInfo.environment["BEACON_RUNS"]')
        self.assertEqual(len(found), 1)
        self.assertIn("Tests/ValuesTests/B.swift", found[0])

    def test_a_variable_that_does_not_start_with_beacon_is_reported(self):
        self.assertEqual(len(self.found(A='environment("RANGING_SEED", default: 1)')), 1)


if __name__ == "__main__":
    unittest.main()
