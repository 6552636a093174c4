"""Tests of the totals of a small coverage report."""

import unittest

import sample  # noqa: F401

from lint.coverage import totals


def file(path, count, covered):
    return {"filename": path, "summary": {"lines": {"count": count, "covered": covered}}}


class Coverage(unittest.TestCase):
    def test_lines_of_sources_are_added_by_target_and_other_files_are_ignored(self):
        report = {"data": [{"files": [
            file("/r/Sources/A/one.swift", 10, 5), file("/r/Sources/A/Deep/two.swift", 10, 10),
            file("/r/Sources/B/three.swift", 4, 0), file("/r/Tests/ATests/a.swift", 9, 9),
            file("/r/.build/checkouts/x/Sources/X/x.swift", 9, 9)]}]}
        self.assertEqual(totals(report, "/r"), {"A": (20, 15), "B": (4, 0)})


if __name__ == "__main__":
    unittest.main()
