"""Tests of the architecture checks: they must find each single damage to Package.swift, the sources or
docs/architecture.md."""

import unittest

from sample import ARCHITECTURE, TEXTS, package, messages, target, tree

from lint import architecture


def after(old, new):
    assert old in ARCHITECTURE, old
    return messages(architecture.check(tree().with_text(architecture.PATH, ARCHITECTURE.replace(old, new)), package()))


class Document(unittest.TestCase):
    def test_an_undamaged_repository_has_no_findings(self):
        self.assertEqual(messages(architecture.check(tree(), package())), [])

    def test_writing_does_not_change_an_up_to_date_document(self):
        self.assertEqual(architecture.written(tree(), package()), ARCHITECTURE)

    def test_each_damage_to_the_document_gives_exactly_the_expected_findings(self):
        hint = architecture.HINT
        for old, new, expected in [
            ("Waiting ──▶ Values", "Values ──▶ Waiting", [
                f"docs/architecture.md:7: an arrow starts at Values, which is not a target that needs another; {hint}",
                f"docs/architecture.md:6: Waiting ──▶ Values is missing; {hint}"]),
            ("tool    ──▶ Waiting", "tool    ──▶ Waiting, Values", [
                f"docs/architecture.md:6: tool ──▶ Values is wrong, or follows from other arrows; {hint}"]),
            ("CLinux, Values", "Values", [f"docs/architecture.md:13: `Waiting` depends on CLinux, Values; {hint}"]),
            ("| `Values` | product: must not see `CLinux` | values | nothing |\n", "", [
                "docs/architecture.md:12: `Values` has no row; add one with its one responsibility"]),
            ("| `tool` |", "| `tools` |", [
                "docs/architecture.md:14: `tools` is not a target under Sources; remove the row",
                "docs/architecture.md:12: `tool` has no row; add one with its one responsibility"]),
            ("| `epoll_wait`, `poll` | `Waiting` |", "| `epoll_wait`, `poll` | no target |", [
                f"docs/architecture.md:22: `epoll_wait`, `poll`: the sources have `Waiting`; "
                f"is this intended? {hint}"]),
            ("| `CLinux` | `Waiting` |\n", "", [
                "docs/architecture.md:20: does not list the targets that use `CLinux`; add a row"]),
            ("──▶", "-->", ["docs/architecture.md: has no block with arrows (──▶)"]),
            ("depends on |", "needs |", [
                "docs/architecture.md: has no table with the header target | reason | one responsibility | "
                "depends on"]),
            ("| used only by |", "| who |", [
                "docs/architecture.md: has no table with the header module or function | used only by"]),
        ]:
            self.assertEqual(after(old, new), expected)

    def test_an_invalid_reason_of_a_target_is_reported_at_its_line(self):
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
    def test_a_second_target_that_calls_poll_is_reported(self):
        sources = tree().with_text("Sources/tool/Tool.swift", "import SystemPackage\nimport Waiting\nGlibc.poll(x)")
        found = messages(architecture.check(sources, package()))
        self.assertEqual(len(found), 1)
        self.assertIn("the sources have `tool`, `Waiting`; is this intended?", found[0])

    def test_declarations_methods_and_comments_with_the_name_poll_are_not_reported(self):
        text = "import SystemPackage\nimport Waiting\nfunc poll() {} // poll(2)\nx.poll()\n"
        self.assertEqual(messages(architecture.check(tree().with_text("Sources/tool/Tool.swift", text), package())), [])

    def test_a_second_target_that_imports_a_c_library_is_reported(self):
        text = "private import CLinux\n" + TEXTS["Sources/tool/Tool.swift"]
        found = messages(architecture.check(tree().with_text("Sources/tool/Tool.swift", text), package()))
        self.assertTrue(any("`CLinux`: the sources have `tool`, `Waiting`" in line for line in found), found)
        self.assertTrue(any("imports CLinux, which Package.swift does not list for tool" in line for line in found),
                        found)

    def test_an_import_of_one_type_of_foundation_is_reported(self):
        found = messages(architecture.check(tree().with_text("Sources/Values/A.swift", "import struct Foundation.Date"), package()))
        self.assertEqual(len(found), 1)


class Manifest(unittest.TestCase):
    def test_a_new_unused_dependency_has_findings_for_its_row_its_reason_and_its_imports(self):
        changed = package(Values=target("Values", own=["CLinux"]))
        found = messages(architecture.check(tree(), changed))
        self.assertEqual(len(found), 3)
        self.assertIn("`Values` depends on CLinux", found[0])
        self.assertIn("`Values` must not depend on CLinux, directly or indirectly", found[1])
        self.assertIn("Values depends on CLinux, but does not import it", found[2])

    def test_writing_updates_the_arrows_and_the_row_of_a_target_whose_dependencies_changed(self):
        changed = package(
            tool=target("tool", "executable", own=["Report"], products=[("SystemPackage", "swift-system")]),
            Report=target("Report", own=["Waiting"]))
        text = architecture.written(tree(), changed)
        self.assertIn("tool    ──▶ Report\nReport  ──▶ Waiting\nWaiting ──▶ Values\n", text)
        self.assertIn("| `tool` | process: must not link `CNothing` | the command | Report, swift-system |", text)


if __name__ == "__main__":
    unittest.main()
