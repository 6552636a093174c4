"""Tests of a session: the summary at the end, whether the complete run passed (a first failure is always reported), and
the distribution of scenarios to machines."""
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from lab.checks import ConclusiveProblem  # noqa: E402
from lab.session import Session, excused, share, summarize  # noqa: E402

GOOD, STALLED, WRONG = ([], 0.1), (["staff: no satisfied at 1.00"], 1.5), (["staff: no satisfied at 1.00"], 0.2)


class Summary(unittest.TestCase):
    def test_a_failure_is_repeated_only_if_a_pause_of_the_machine_can_explain_it(self):
        self.assertTrue(excused(*STALLED))
        self.assertFalse(excused(*WRONG))
        self.assertFalse(excused([], 1.5))
        self.assertFalse(excused(["staff: no satisfied at 1.00", ConclusiveProblem("the gateway ended with 1")], 1.5))

    def test_a_pass_at_the_second_attempt_is_reported_and_counted(self):
        text, passed = summarize({"a": [GOOD], "b": [STALLED, GOOD]})
        self.assertTrue(passed)
        self.assertIn("2 of 2 scenarios passed, 1 of them only at the second attempt", text)
        self.assertIn("TWICE b: the machine was paused for 1.5 s at the first attempt, which failed with: staff: no satisfied", text)

    def test_the_run_fails_if_a_second_attempt_fails(self):
        text, passed = summarize({"a": [GOOD], "b": [STALLED, STALLED]})
        self.assertFalse(passed)
        self.assertIn("1 of 2 scenarios passed\n  FAIL  b", text)

    def test_the_run_fails_if_more_than_one_and_more_than_a_tenth_needed_a_second_attempt(self):
        for good, second, passes in ((18, 2, True), (17, 3, False), (1, 1, True), (1, 2, False)):
            tries = {"good %d" % n: [GOOD] for n in range(good)} | {"second %d" % n: [STALLED, GOOD] for n in range(second)}
            self.assertEqual(summarize(tries)[1], passes)

    def test_the_run_fails_if_a_scenario_was_not_run(self):
        self.assertFalse(summarize({"a": [GOOD], "b": []})[1])


class Machines(unittest.TestCase):
    SECONDS = {"a": 120, "b": 20, "c": 60, "d": 30, "e": 30}

    def test_each_scenario_runs_on_one_machine_and_all_machines_run_for_about_as_long(self):
        for machines in (1, 2, 3, 5, 9):
            shares = share(list(self.SECONDS), self.SECONDS, machines)
            self.assertEqual(len(shares), min(machines, 5))
            self.assertEqual(sorted(name for each in shares for name in each), list("abcde"))
            self.assertLessEqual(max(sum(map(self.SECONDS.get, each)) for each in shares), max(120, 260 / machines + 30))

    def test_the_order_of_the_requested_scenarios_is_preserved(self):
        self.assertEqual(share(["d", "b", "a"], self.SECONDS, 1), [["d", "b", "a"]])
        self.assertIn(["c", "d", "e"], share(list(self.SECONDS), self.SECONDS, 2))

    def test_without_scenarios_there_is_one_machine_without_scenarios(self):
        self.assertEqual(share([], {}, 3), [[]])


class Fetching(unittest.TestCase):
    def test_the_results_of_a_machine_are_moved_together_with_its_calibration(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder)
            for machine in (out / "machine-2", out):
                (machine / "receives-hci").mkdir(parents=True)
                (machine / "receives-hci" / "report.json").write_text("{}")
                (machine / "calibration").write_text("2.5")
                Session([], out)._fetch("receives-hci", machine)
                self.assertEqual((out / "receives-hci" / "calibration").read_text(), "2.5")
                self.assertTrue((out / "receives-hci" / "report.json").exists())
                shutil.rmtree(out / "receives-hci")

    def test_a_scenario_without_results_is_skipped(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder)
            (out / "machine-1").mkdir()
            Session([], out)._fetch("receives-hci", out / "machine-1")
            self.assertFalse((out / "receives-hci").exists())


if __name__ == "__main__":
    unittest.main()
