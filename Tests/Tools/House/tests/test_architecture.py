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
            ("| `Values` | product: must not see `CLinux` | values | nothing |\n", "", [
                "docs/architecture.md:12: `Values` has no row: give it one, with its one responsibility"]),
            ("| `tool` |", "| `tools` |", [
                "docs/architecture.md:14: `tools` is no target under Sources; take the row out",
                "docs/architecture.md:12: `tool` has no row: give it one, with its one responsibility"]),
            ("| `epoll_wait`, `poll` | `Waiting` |", "| `epoll_wait`, `poll` | nobody |", [
                f"docs/architecture.md:22: `epoll_wait`, `poll`: the sources say `Waiting`; is that meant? {hint}"]),
            ("| `CLinux` | `Waiting` |\n", "", [
                "docs/architecture.md:20: does not say who touches `CLinux`; add a row"]),
            ("──▶", "-->", ["docs/architecture.md: has no block with arrows (──▶)"]),
            ("depends on |", "needs |", [
                "docs/architecture.md: has no table with the head target | reason | one responsibility | depends on"]),
            ("| used only by |", "| who |", ["docs/architecture.md: has no table with the head module or function | used only by"]),
        ]:
            self.assertEqual(after(old, new), expected)

    def test_a_wrong_reason_of_a_target_is_found_in_its_line(self):
        invalid = ("has no valid reason. "
                   "Write `product`, `layer: must not see ` or `process: must not link ` and names of targets in code")
        product = "must have the reason product if it is a library in Package.swift, and only then"
        for old, new, expected in [
            ("product: must not see `CLinux`", "product", []),
            ("product: must not see `CLinux`", "product: must not see CLinux", [f"12: `Values` {invalid}"]),
            ("product: must not see `CLinux`", "process: must not link `CLinux`", [f"12: `Values` {product}"]),
            ("layer: must not see `CNothing`", "product", [f"13: `Waiting` {product}"]),
            ("layer: must not see `CNothing`", "layer", [f"13: `Waiting` {invalid}"]),
            ("layer: must not see `CNothing`", "layer: must not link `CNothing`", [f"13: `Waiting` {invalid}"]),
            ("layer: must not see `CNothing`", "layer: must not see `CNothing`, Values", [f"13: `Waiting` {invalid}"]),
            ("layer: must not see `CNothing`", "an idea: must not see `CNothing`", [f"13: `Waiting` {invalid}"]),
            ("layer: must not see `CNothing`", "layer: must not see `CNothing`, `Values`", [
                "13: `Waiting` must not depend on Values, directly or indirectly"]),
            ("layer: must not see `CNothing`", "layer: must not see `Waiting`, `tool`", [
                f"13: `Waiting` names {other} in its reason, which it can never depend on" for other in ["Waiting", "tool"]]),
            ("must not link `CNothing`", "must not link `CNothing`, `CLinux`", [
                "14: `tool` must not depend on CLinux, directly or indirectly"]),
            ("must not link `CNothing`", "must not link `CNothin`", [
                "14: `tool` names CNothin in its reason, which is not a target"]),
        ]:
            self.assertEqual(after(old, new), [f"docs/architecture.md:{line}" for line in expected])


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
        self.assertEqual(len(found), 3)
        self.assertIn("`Values` depends on CLinux", found[0])
        self.assertIn("`Values` must not depend on CLinux, directly or indirectly", found[1])
        self.assertIn("Values names CLinux and imports it nowhere", found[2])

    def test_a_target_that_is_divided_is_written_as_it_is_now(self):
        changed = package(
            tool=target("tool", "executable", own=["Report"], products=[("SystemPackage", "swift-system")]),
            Report=target("Report", own=["Waiting"]))
        text = architecture.written(tree(), changed)
        self.assertIn("tool    ──▶ Report\nReport  ──▶ Waiting\nWaiting ──▶ Values\n", text)
        self.assertIn("| `tool` | process: must not link `CNothing` | the command | Report, swift-system |", text)


if __name__ == "__main__":
    unittest.main()
