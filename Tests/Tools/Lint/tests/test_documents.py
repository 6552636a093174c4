"""Tests of the checks of links and names: each test damages a document, or something that it names."""

import unittest

from sample import ROOT, TEXTS, messages, tree

from lint import links, names
from lint.tree import Tree


class Links(unittest.TestCase):
    def test_an_undamaged_repository_has_no_broken_links(self):
        self.assertEqual(messages(links.check(tree())), [])

    def test_each_kind_of_broken_link_is_reported_at_its_line(self):
        for text, expected in [
            ("a [b](docs/lop.md)", "README.md:1: the link to docs/lop.md leads to no file"),
            ("\n[b](docs/loop.md#turn)",
             "README.md:2: the link to docs/loop.md#turn has an anchor, but no heading of docs/loop.md has it"),
            ("[b](#reed)", "README.md:1: the link to #reed has an anchor, but no heading of README.md has it"),
            ("[`b`](nowhere.md)", "README.md:1: the link to nowhere.md leads to no file"),
            ("[b]: nowhere.md", "README.md:1: the link to nowhere.md leads to no file"),
            ("![b](nowhere.png)", "README.md:1: the link to nowhere.png leads to no file"),
            ("[b](Makefile#test)",
             "README.md:1: the link to Makefile#test has an anchor, but leads to a file that is not Markdown"),
            ("[b](/docs/loop.md)", "README.md:1: the link to /docs/loop.md starts at a root that readers do not have; "
                                   "write it relative to the folder of the file"),
        ]:
            self.assertEqual(messages(links.check(tree().with_text("README.md", text))), [expected])

    def test_links_to_other_servers_and_links_in_code_are_not_checked(self):
        text = "[a](https://example.com/x#y) `[b](c)`\n\n~~~\n[d](e)\n~~~\n"
        self.assertEqual(messages(links.check(tree().with_text("README.md", text))), [])

    def test_renaming_a_heading_breaks_the_link_to_it(self):
        renamed = TEXTS["docs/loop.md"].replace("Turns", "Rounds")
        self.assertEqual(len(messages(links.check(tree().with_text("docs/loop.md", renamed)))), 1)


    def test_a_document_that_is_not_in_the_list_of_documents_is_reported(self):
        changed = tree().with_text("docs/README.md", "[a](../README.md) [b](../CHANGELOG.md) [c](architecture.md) [d](loop.md)")
        self.assertEqual(messages(links.check(changed)), [])
        self.assertEqual(messages(links.check(changed.with_text("docs/new.md", "New."))), [
            "docs/README.md: does not describe new.md; add a row"])


class Names(unittest.TestCase):
    def test_an_undamaged_repository_has_no_unknown_names(self):
        self.assertEqual(messages(names.check(tree())), [])

    def test_each_name_of_something_that_does_not_exist_is_reported(self):
        for path, text, expected in [
            ("README.md", "`make tset`", "README.md:1: `make tset`: the Makefile has no such target"),
            ("README.md", "```sh\nmake test && sudo make tset  # all\n```", "README.md:2: `make tset`: the Makefile has no such target"),
            ("README.md", "`make verify STEP=lop`",
             "README.md:1: `make verify STEP=lop`: Tests/Tools/Gate/verify has no such step"),
            ("README.md", "`make verify STEP='lop 3'` and `make instal`", [
                "README.md:1: `make instal`: the Makefile has no such target",
                "README.md:1: `make verify STEP=lop`: Tests/Tools/Gate/verify has no such step"]),
            ("README.md", "`Sources/Wating`", "README.md:1: `Sources/Wating` does not exist"),
            ("README.md", "`Sources/<Target>/Lop.swift`", "README.md:1: `Sources/<Target>/Lop.swift` does not exist"),
            ("README.md", "`Lop.swift`", "README.md:1: `Lop.swift` does not exist"),
            ("README.md", "`BEACON_X=1 swift test`", "README.md:1: BEACON_X is not in any test"),
            ("README.md", "`swift test --filter ATests`", "README.md:1: ATests is not in any test"),
            ("Sources/Values/A.swift", "\n/// As docs/lop.md says.",
             "Sources/Values/A.swift:2: docs/lop.md does not exist"),
            ("Makefile", "# See Tests/Nothing/run.\ntest:\nverify:", "Makefile:1: Tests/Nothing/run does not exist"),
            ("docs/architecture.md", "`Loop.swift` (`turn`), `Loop.swift` (`trun`, `turn`)",
             "docs/architecture.md:1: Loop.swift has no `trun`"),
            ("docs/architecture.md", "\n\n`ClockWerk`", "docs/architecture.md:3: `ClockWerk` is not in any source"),
        ]:
            self.assertEqual(messages(names.check(tree().with_text(path, text))), [expected] if isinstance(expected, str) else expected)

    def test_a_placeholder_in_a_path_matches_any_text(self):
        for word in ["Sources/<Target>/Loop.swift", "Loo….swift", "Sources/*/shim.h", "docs/"]:
            self.assertEqual(messages(names.check(tree().with_text("README.md", f"`{word}`\n`make install`"))), [], word)


class Repository(unittest.TestCase):
    """The same checks with this repository, whose documents are longer than the test data."""

    def test_removing_a_document_breaks_the_links_to_it(self):
        repository = Tree.of_repository(ROOT)
        before = len(messages(links.check(repository)))
        self.assertGreater(len(messages(links.check(repository.with_text("docs/monitor.md", None)))), before)

    def test_the_makefile_must_install_the_libraries_that_package_swift_names_and_no_others(self):
        repository = Tree.of_repository(ROOT)
        self.assertEqual(messages(names.packages(repository)), [])
        less = repository.with_text("Makefile", repository.text("Makefile").replace(" libexpat1-dev", ""))
        self.assertEqual(messages(names.packages(less)), ["Makefile: packages.build lacks libexpat1-dev, which Package.swift names"])
        more = repository.with_text("Makefile", repository.text("Makefile").replace(" libexpat1-dev", " libexpat1-dev libbluetooth-dev"))
        self.assertEqual(messages(names.packages(more)),
                         ["Package.swift: no target names libbluetooth-dev, which the Makefile installs"])

    def test_removing_a_target_of_the_makefile_is_reported(self):
        repository = Tree.of_repository(ROOT)
        makefile = repository.text("Makefile").replace("\nlab: ", "\nlaboratory: ")
        self.assertGreater(len(messages(names.check(repository.with_text("Makefile", makefile)))), len(messages(names.check(repository))))


if __name__ == "__main__":
    unittest.main()
