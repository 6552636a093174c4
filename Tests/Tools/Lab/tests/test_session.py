"""What is said at the end, and whether the whole passed: a first failure is never forgotten."""
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from lab.checks import Hard  # noqa: E402
from lab.session import Session, excused, share, summarize  # noqa: E402

GOOD, STALLED, WRONG = ([], 0.1), (["staff: no satisfied at 1.00"], 1.5), (["staff: no satisfied at 1.00"], 0.2)


class Summary(unittest.TestCase):
    def test_a_failure_is_tried_again_only_where_standing_still_may_explain_it(self):
        self.assertTrue(excused(*STALLED))
        self.assertFalse(excused(*WRONG))
        self.assertFalse(excused([], 1.5))
        self.assertFalse(excused(["staff: no satisfied at 1.00", Hard("the gateway ended with 1")], 1.5))

    def test_a_second_try_that_passes_is_seen_and_counted(self):
        text, passed = summarize({"a": [GOOD], "b": [STALLED, GOOD]})
        self.assertTrue(passed)
        self.assertIn("2 of 2 scenarios passed, 1 of them only at the second try", text)
        self.assertIn("TWICE b: the machine stood still for 1.5 s at the first try, when: staff: no satisfied", text)

    def test_a_second_try_that_fails_fails_the_whole(self):
        text, passed = summarize({"a": [GOOD], "b": [STALLED, STALLED]})
        self.assertFalse(passed)
        self.assertIn("1 of 2 scenarios passed\n  FAIL  b", text)

    def test_more_than_a_tenth_of_second_tries_fail_the_whole(self):
        for good, second, passes in ((18, 2, True), (17, 3, False), (1, 1, True), (1, 2, False)):
            tries = {"good %d" % n: [GOOD] for n in range(good)} | {"second %d" % n: [STALLED, GOOD] for n in range(second)}
            self.assertEqual(summarize(tries)[1], passes)

    def test_what_was_not_run_fails_the_whole(self):
        self.assertFalse(summarize({"a": [GOOD], "b": []})[1])


class Machines(unittest.TestCase):
    SECONDS = {"a": 120, "b": 20, "c": 60, "d": 30, "e": 30}

    def test_each_scenario_is_run_by_one_machine_and_each_machine_has_about_as_long_to_run(self):
        for machines in (1, 2, 3, 5, 9):
            shares = share(list(self.SECONDS), self.SECONDS, machines)
            self.assertEqual(len(shares), min(machines, 5))
            self.assertEqual(sorted(name for each in shares for name in each), list("abcde"))
            self.assertLessEqual(max(sum(map(self.SECONDS.get, each)) for each in shares), max(120, 260 / machines + 30))

    def test_the_order_in_which_they_were_asked_for_is_kept(self):
        self.assertEqual(share(["d", "b", "a"], self.SECONDS, 1), [["d", "b", "a"]])
        self.assertIn(["c", "d", "e"], share(list(self.SECONDS), self.SECONDS, 2))

    def test_nothing_to_run_is_one_machine_with_nothing(self):
        self.assertEqual(share([], {}, 3), [[]])


class Fetching(unittest.TestCase):
    def test_what_a_machine_left_is_judged_with_how_slow_that_machine_is(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder)
            for machine in (out / "machine-2", out):
                (machine / "hears-hci").mkdir(parents=True)
                (machine / "hears-hci" / "report.json").write_text("{}")
                (machine / "calibration").write_text("2.5")
                Session([], out)._fetch("hears-hci", machine)
                self.assertEqual((out / "hears-hci" / "calibration").read_text(), "2.5")
                self.assertTrue((out / "hears-hci" / "report.json").exists())
                shutil.rmtree(out / "hears-hci")

    def test_what_left_nothing_is_passed_over(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder)
            (out / "machine-1").mkdir()
            Session([], out)._fetch("hears-hci", out / "machine-1")
            self.assertFalse((out / "hears-hci").exists())


if __name__ == "__main__":
    unittest.main()
