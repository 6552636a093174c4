"""Tests of the checks for the output of a program that uses the libraries."""
import pathlib
import runpy
import unittest

LIBRARY = runpy.run_path(str(pathlib.Path(__file__).resolve().parent.parent / "library"), run_name="library")
PLAN = next(each for each in LIBRARY["RUNS"] if each["name"] == "bluetoothd")
DENIED = next(each for each in LIBRARY["RUNS"] if each["name"] == "management-denied")
# The script starts at 1000 s.
GOOD = "hci0 scans: x\nevent near satisfied 1/7 1001.1\nevent near unsatisfied - 1009.9\nevent near satisfied 1/7 1016.2\n"


def result(status=0, problems=()):
    return {"status": status, "zero": 1000.0, "problems": list(problems)}


class LibraryTests(unittest.TestCase):
    def problems(self, plan, outcome, output):
        return LIBRARY["problems"](plan, outcome, output)

    def test_a_beacon_that_enters_exits_and_enters_again_passes(self):
        self.assertEqual(self.problems(PLAN, result(), GOOD), [])

    def test_a_missing_exit_and_one_at_the_wrong_time_are_reported(self):
        self.assertTrue(self.problems(PLAN, result(), GOOD.replace("unsatisfied - 1009.9", "unsatisfied - 1003.0")))
        self.assertTrue(self.problems(PLAN, result(), "".join(
            line for line in GOOD.splitlines(True) if "unsatisfied" not in line)))

    def test_a_missing_end_a_wrong_beacon_and_a_problem_of_the_run_are_reported(self):
        self.assertTrue(self.problems(PLAN, result(status=None), GOOD))
        self.assertTrue(self.problems(PLAN, result(), GOOD.replace("1/7", "1/8")))
        self.assertTrue(self.problems(PLAN, result(problems=["it hung"]), GOOD))

    def test_a_program_without_the_right_must_exit_with_77_and_print_no_events(self):
        self.assertEqual(self.problems(DENIED, result(status=77), "failed: no\n"), [])
        self.assertTrue(self.problems(DENIED, result(), "failed: no\n"))
        self.assertTrue(self.problems(DENIED, result(status=77), GOOD))


if __name__ == "__main__":
    unittest.main()
