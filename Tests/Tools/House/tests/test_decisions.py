"""Damages decisions and their index."""

import unittest

from world import said, tree

from house import decisions

ONE = "# 1. Wait once\n\n- Status: accepted\n- Date: 2026-11-21\n- Concerns: time\n\nBecause.\n"
TWO = "# 2. Wait twice\n\n- Status: superseded by [0001](0001-wait.md)\n- Date: 2026-11-22\n- Concerns: time\n\nNo.\n"
INDEX = ("# Decisions\n\nAll.\n\n## time\n\n- [0001](0001-wait.md) Wait once\n"
         "- [0002](0002-twice.md) Wait twice (superseded by [0001](0001-wait.md))\n")


def world(one=ONE, index=INDEX, name="0001-wait.md"):
    folder = decisions.FOLDER
    return tree().with_text(folder + name, one).with_text(folder + "0002-twice.md", TWO).with_text(decisions.INDEX, index)


class Decisions(unittest.TestCase):
    def test_whole_ones_have_nothing_to_say(self):
        self.assertEqual(said(decisions.check(world())), [])

    def test_each_damage_is_found(self):
        for damaged, expected in [
            (world(ONE.replace("# 1.", "# 3.")), "calls itself 3"),
            (world(ONE.replace("accepted", "perhaps")), "its status is neither"),
            (world(ONE.replace("2026-11-21", "today")), "its date is not written"),
            (world(ONE.replace("- Date", "- When")), "does not begin with"),
            (world(name="0002-wait.md"), "has the number of"),
            (world(name="wait.md"), "is not called"),
            (world(index=INDEX.replace("once", "long")), "does not list the decisions that are there"),
            (world().with_text("docs/decisions.md", "- **More.**"), "decisions are a file each now"),
            (world().with_text(decisions.INDEX, None), "is not there"),
        ]:
            found = said(decisions.check(damaged))
            self.assertTrue(any(expected in line for line in found), (expected, found))

    def test_the_index_keeps_what_is_written_by_hand(self):
        self.assertEqual(decisions.index(world(index="# Decisions\n\nAll.\n\n## old\n\n- gone\n")), INDEX)


if __name__ == "__main__":
    unittest.main()
