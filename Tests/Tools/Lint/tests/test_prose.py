"""Adds unclear text to a repository in which nothing is wrong."""

import unittest

from sample import messages, tree

from lint import prose
from lint.tree import Tree


def only(path, text):
    return Tree("/nowhere", [path], {path: text})


def findings(path, text):
    return messages(prose.check(only(path, text)))


class Refused(unittest.TestCase):
    def test_a_repository_with_clear_text_has_no_finding(self):
        self.assertEqual(messages(prose.check(tree())), [])

    def test_a_refused_word_is_reported_with_its_line_in_each_kind_of_file(self):
        for path, text in [("docs/loop.md", "# Loop\nIt is read anew.\n"), ("Sources/Values/A.swift", "\n/// Reads anew.\nlet a = 1\n"),
                           ("Sources/Values/A.swift", '\nlet a = "the file is read anew"\n'), ("Makefile", "all:\n# Reads anew.\n"),
                           ("Tests/ValuesTests/A.swift", "\nfunc `a file is read anew`() {}\n"),
                           ("Tests/Tools/read", '#!/usr/bin/python3\n"""Reads anew."""\n'),
                           ("Sources/Values/A.swift", '\nlet a = """\n    The file is read anew.\n    """\n'),
                           ("Tests/Tools/read.py", '\nasync def read():\n    """Reads anew."""\n'),
                           ("Tests/Fixtures/read.py", "\n# Reads anew.\n"), ("Tests/Fixtures/a.md", "# A\nRead anew.\n"),
                           ("docs/a.schema.json", '{\n  "description": "Read anew."\n}\n'), ("Sources/CLinux/a.h", "\n/* Read anew. */\n")]:
            found = findings(path, text)
            self.assertEqual(len(found), 1, (path, text, found))
            self.assertRegex(found[0], f"^{path}:[23]: “anew”")

    def test_code_and_data_are_not_text(self):
        for path, text in [("docs/loop.md", "# Loop\n\n```\nread anew\n```\n\n`anew`\n"), ("Sources/Values/A.swift", "let anew = 1\n"),
                           ("Sources/Values/A.swift", "/// ```\n/// read(anew)\n/// ```\nlet a = 1\n"),
                           ("Sources/Values/A.swift", "/// Calls ``read(anew:)``.\nlet a = 1\n"),
                           ("Tests/Fixtures/a.yaml", "# Read anew.\n"), ("docs/a.md", "# Read lines with python\n"),
                           ("Tests/Tools/read.py", "anew = 'it is read anew'\n")]:
            self.assertEqual(findings(path, text), [], (path, text))

    def test_an_octet_needs_its_specification(self):
        self.assertEqual(len(findings("Sources/Values/A.swift", "/// The first octet.\nlet a = 1\n")), 1)
        self.assertEqual(len(findings("Sources/Values/A.swift", "/// The core reads an octet.\nlet a = 1\n")), 1)
        self.assertEqual(findings("Sources/Values/A.swift", "/// The first octet (RFC 4122, 4.1.2).\nlet a = 1\n"), [])

    def test_a_doc_comment_must_not_start_with_a_pronoun(self):
        for text in ["/// What it is.\nlet a = 1\n", "let a = 1\n\n/// Whose it is,\n/// by name.\nlet b = 1\n"]:
            self.assertEqual(len(findings("Sources/Values/A.swift", text)), 1, text)
        self.assertEqual(len(findings("Tests/Tools/read.py", 'def a():\n    """What it is."""\n')), 1)
        for text in ["/// Whether it is.\nlet a = 1\n", "/// The name\n/// Who has.\nlet a = 1\n", "/// What is it?\nlet a = 1\n"]:
            self.assertEqual(findings("Sources/Values/A.swift", text), [], text)


class Rates(unittest.TestCase):
    # A sentence for each limit, which contains the pattern once.
    SENTENCES = {
        "where = if": "It ends, or where it fails.", "a sentence that starts with What or Who": "What fails ends.",
        "what": "It ends what fails.", "is told, is said": "The end is said.", "tell, told": "It tells the end.",
        "somebody, nobody": "The end finds nobody.", "stand": "The end stands there.", "beside, behind": "It is beside the end.",
        "is no": "It is no end.", "hear": "It can hear the end.", "way of hearing": "Each way of hearing ends.",
        "come to, come of": "The files which come to an end.", "hold against": "It holds files against the end.",
        "he, him, his": "The end is his.", "private words": "It can mend the end.", "begin": "The end can begin.",
        ", for = because": "It ends, for it is late."}

    def test_each_limit_is_checked_in_a_short_page_from_the_third_match(self):
        self.assertEqual([name for name, *_ in prose.RATES], list(self.SENTENCES))
        for name, sentence in self.SENTENCES.items():
            self.assertFalse([each for each in self.page(sentence, 2) if f"“{name}”" in each], name)
            found = [each for each in self.page(sentence, 3) if f"“{name}”" in each]
            # The page and the repository, each with the first three places.
            self.assertEqual([each.split(": ")[0] for each in found], [f"docs/loop.md:{line}" for line in (1, 2, 3)] * 2, name)

    def page(self, sentence, count):
        return findings("docs/loop.md", f"{sentence}\n" * count + "One two three.\n")

    def test_in_a_long_text_the_rate_counts(self):
        # 4,000 words with a limit of 2 per 1,000.
        text = "It ends.\n" * 1_990
        self.assertFalse(any("“what”" in each for each in findings("docs/loop.md", text + "See what ends.\n" * 8)))
        self.assertTrue(any("“what”" in each for each in findings("docs/loop.md", text + "See what ends.\n" * 9)))

    def test_a_long_text_without_conditions_and_obligations_is_reported(self):
        found = findings("Sources/Values/A.swift", "// It ends.\n" * 1_500)
        self.assertEqual([each.split(": ")[0] for each in found], ["README.md"] * 2, found)
        # A page is also checked alone, and has its own findings.
        found = findings("docs/loop.md", "It ends.\n" * 1_500)
        self.assertEqual([each.split(": ")[0] for each in found], ["README.md"] * 2 + ["docs/loop.md"] * 2, found)
        self.assertEqual(findings("Sources/Values/A.swift", "// It ends.\n" * 1_400), [])
        self.assertEqual(findings("Sources/Values/A.swift", "// It ends.\n" * 1_500 + "// It must end if it fails.\n" * 12), [])

    def test_the_table_has_the_rate_of_each_pattern_and_the_first_places(self):
        tree = only("docs/loop.md", "See what ends.\n").with_text("README.md", "One two.\n")
        lines = list(prose.table(tree, ["docs/loop.md"]))
        self.assertEqual(lines[0], "3 words of prose; per 1,000 words:")
        self.assertIn("333.33  ≤ 2.0  docs/loop.md:1", lines[3])
        self.assertEqual(len(lines), 1 + len(prose.RATES) + len(prose.LEAST))
        self.assertEqual(next(prose.table(tree, ["docs"])).split()[0], "3")
        self.assertEqual(next(prose.table(tree, [])).split()[0], "5")


if __name__ == "__main__":
    unittest.main()
