"""What a program of the libraries said, and what is wrong with that."""
import pathlib
import runpy
import unittest

LIBRARY = runpy.run_path(str(pathlib.Path(__file__).resolve().parent.parent / "library"), run_name="library")
PLAN = next(each for each in LIBRARY["RUNS"] if each["name"] == "bluetoothd")
DENIED = next(each for each in LIBRARY["RUNS"] if each["name"] == "management-denied")
# The script began at 1000 s.
GOOD = "hci0 listens: x\nevent near satisfied 1/7 1001.1\nevent near unsatisfied - 1009.9\nevent near satisfied 1/7 1016.2\n"


def result(status=0, problems=()):
    return {"status": status, "zero": 1000.0, "problems": list(problems)}


class LibraryTests(unittest.TestCase):
    def problems(self, plan, outcome, output):
        return LIBRARY["problems"](plan, outcome, output)

    def test_who_comes_leaves_and_comes_again_is_as_it_should_be(self):
        self.assertEqual(self.problems(PLAN, result(), GOOD), [])

    def test_an_exit_that_is_missing_or_at_another_time_is_told(self):
        self.assertTrue(self.problems(PLAN, result(), GOOD.replace("unsatisfied - 1009.9", "unsatisfied - 1003.0")))
        self.assertTrue(self.problems(PLAN, result(), "".join(
            line for line in GOOD.splitlines(True) if "unsatisfied" not in line)))

    def test_a_program_that_does_not_end_or_names_another_is_told(self):
        self.assertTrue(self.problems(PLAN, result(status=None), GOOD))
        self.assertTrue(self.problems(PLAN, result(), GOOD.replace("1/7", "1/8")))
        self.assertTrue(self.problems(PLAN, result(problems=["it hung"]), GOOD))

    def test_who_may_not_hear_ends_with_77_and_says_nothing(self):
        self.assertEqual(self.problems(DENIED, result(status=77), "failed: no\n"), [])
        self.assertTrue(self.problems(DENIED, result(), "failed: no\n"))
        self.assertTrue(self.problems(DENIED, result(status=77), GOOD))


if __name__ == "__main__":
    unittest.main()
