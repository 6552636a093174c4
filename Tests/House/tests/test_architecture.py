"""Damages Package.swift, the sources and docs/architecture.md, once each."""

import unittest

from world import ARCHITECTURE, TEXTS, package, said, target, tree

from house import architecture


def after(old, new):
    assert old in ARCHITECTURE, old
    return said(architecture.check(tree().with_text(architecture.PATH, ARCHITECTURE.replace(old, new)), package()))


class Document(unittest.TestCase):
    def test_a_whole_repository_has_nothing_to_say(self):
        self.assertEqual(said(architecture.check(tree(), package())), [])

    def test_it_is_what_would_be_written(self):
        self.assertEqual(architecture.written(tree(), package()), ARCHITECTURE)

    def test_what_is_wrong_in_it_is_found_in_its_line(self):
        hint = architecture.HINT
        for old, new, expected in [
            ("Waiting ──▶ Values", "Values ──▶ Waiting", [
                f"docs/architecture.md:7: an arrow begins at Values, which is no target that needs another; {hint}",
                f"docs/architecture.md:6: Waiting ──▶ Values is missing; {hint}"]),
            ("tool    ──▶ Waiting", "tool    ──▶ Waiting, Values", [
                f"docs/architecture.md:6: tool ──▶ Values is not so, or goes by way of another; {hint}"]),
            ("CLinux, Values", "Values", [f"docs/architecture.md:13: `Waiting` depends on CLinux, Values; {hint}"]),
            ("| `Values` | values | nothing |\n", "", [
                "docs/architecture.md:12: `Values` has no row: give it one, with its one responsibility"]),
            ("| `tool` |", "| `tools` |", [
                "docs/architecture.md:14: `tools` is no target under Sources; take the row out",
                "docs/architecture.md:12: `tool` has no row: give it one, with its one responsibility"]),
            ("| `epoll_wait`, `poll` | `Waiting` |", "| `epoll_wait`, `poll` | nobody |", [
                f"docs/architecture.md:20: `epoll_wait`, `poll`: the sources say `Waiting`; is that meant? {hint}"]),
            ("| `CLinux` | `Waiting` |\n", "", [
                "docs/architecture.md:19: does not say who touches `CLinux`; add a row"]),
            ("──▶", "-->", ["docs/architecture.md: has no block with arrows (──▶)"]),
            ("depends on |", "needs |", [
                "docs/architecture.md: has no table with the head target | one responsibility | depends on"]),
            ("| who alone |", "| who |", ["docs/architecture.md: has no table with the head what | who alone"]),
        ]:
            self.assertEqual(after(old, new), expected)


class Sources(unittest.TestCase):
    def test_a_second_place_that_waits_is_found(self):
        sources = tree().with_text("Sources/tool/Tool.swift", "import SystemPackage\nimport Waiting\nGlibc.poll(x)")
        found = said(architecture.check(sources, package()))
        self.assertEqual(len(found), 1)
        self.assertIn("the sources say `tool`, `Waiting`; is that meant?", found[0])

    def test_a_function_of_the_name_and_a_word_of_it_in_a_comment_are_none(self):
        text = "import SystemPackage\nimport Waiting\nfunc poll() {} // poll(2)\nx.poll()\n"
        self.assertEqual(said(architecture.check(tree().with_text("Sources/tool/Tool.swift", text), package())), [])

    def test_a_second_target_that_touches_a_c_library_is_found(self):
        text = "private import CLinux\n" + TEXTS["Sources/tool/Tool.swift"]
        found = said(architecture.check(tree().with_text("Sources/tool/Tool.swift", text), package()))
        self.assertTrue(any("`CLinux`: the sources say `tool`, `Waiting`" in line for line in found), found)
        self.assertTrue(any("imports CLinux, which Package.swift does not name for tool" in line for line in found), found)

    def test_foundation_is_found_wherever_it_is_imported(self):
        found = said(architecture.check(tree().with_text("Sources/Values/A.swift", "import struct Foundation.Date"), package()))
        self.assertEqual(len(found), 1)


class Manifest(unittest.TestCase):
    def test_a_target_that_gains_an_arrow_fails_the_drawing_the_table_and_its_own_line(self):
        changed = package(Values=target("Values", own=["CLinux"]))
        found = said(architecture.check(tree(), changed))
        self.assertEqual(len(found), 2)
        self.assertIn("`Values` depends on CLinux", found[0])
        self.assertIn("Values names CLinux and imports it nowhere", found[1])

    def test_a_target_that_is_divided_is_written_as_it_is_now(self):
        changed = package(
            tool=target("tool", "executable", own=["Report"], products=[("SystemPackage", "swift-system")]),
            Report=target("Report", own=["Waiting"]))
        text = architecture.written(tree(), changed)
        self.assertIn("tool    ──▶ Report\nReport  ──▶ Waiting\nWaiting ──▶ Values\n", text)
        self.assertIn("| `tool` | the command | Report, swift-system |", text)


if __name__ == "__main__":
    unittest.main()
