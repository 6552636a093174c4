"""Tests the steps that `verify` runs and skips, and its exit status."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
# The script that replaces the commands which `verify` runs. It logs the call, and fails if its last argument is the
# value of the variable FAILING.
COMMAND = """#!/bin/bash
echo "${0##*/} $*" >>"$CALLS"
[[ $* != *" $FAILING" ]]
"""
STEPS = """list() {
  cat <<STEPS
one|60|Sources|make -s one|[X]
two|60|$package|make -s two
three|60|.|make -s three
named|60||make -s named
STEPS
}
"""


class VerifyTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.checkout = pathlib.Path(folder.name, "a checkout")
        programs = pathlib.Path(folder.name, "programs")
        self.calls = pathlib.Path(folder.name, "calls")
        for path in ["Tests/Tools/Gate", "Sources", "docs"]:
            (self.checkout / path).mkdir(parents=True)
        text = (ROOT / "Tests/Tools/Gate/verify").read_text()
        text, count = re.subn(r"^list\(\) \{.*?^\}\n", lambda _: STEPS, text, flags=re.M | re.S)
        self.assertEqual(count, 1)
        (self.checkout / "Tests/Tools/Gate/verify").write_text(text.replace("free_space=12", "free_space=0\npause=0.02"))
        (self.checkout / "Tests/Tools/Gate/steps").write_text((ROOT / "Tests/Tools/Gate/steps").read_text())
        (self.checkout / "Tests/Tools/thrice").write_text('#!/bin/bash\n"$@"\n')
        (self.checkout / "Sources/a.swift").write_text("1")
        (self.checkout / "docs/a.md").write_text("1")
        (self.checkout / ".gitignore").write_text(".build\nPackage.resolved\n")
        (self.checkout / "Package.resolved").write_text("1")
        programs.mkdir()
        for name in ["make", "swift", "dpkg-query"]:
            (programs / name).write_text(COMMAND)
        for path in [*programs.iterdir(), *(self.checkout / "Tests/Tools").glob("**/*")]:
            path.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "CALLS": str(self.calls), "FAILING": "none"}
        self.environment.pop("BEACON_SEED", None)
        subprocess.run(["git", "init", "-q", self.checkout], check=True)
        subprocess.run(["git", "-C", self.checkout, "add", "."], check=True)

    def verify(self, *arguments, **environment):
        """Returns the exit status, the output, and the steps that ran."""
        self.calls.write_text("")
        ended = subprocess.run([self.checkout / "Tests/Tools/Gate/verify", *arguments], env={**self.environment, **environment},
                               capture_output=True, text=True, timeout=120)
        steps = re.findall(r"^make -s (?!deps)(\w+)$", self.calls.read_text(), re.M)
        return ended.returncode, ended.stdout + ended.stderr, steps

    def test_it_continues_after_a_failure_and_skips_steps_that_passed_with_the_same_content(self):
        status, output, steps = self.verify(FAILING="two")
        self.assertEqual((status, steps), (1, ["one", "two", "three"]), output)
        self.assertRegex(output, r" passed   one\n +\d+  FAILED   two\n +\d+  passed   three\n$")
        status, output, steps = self.verify()
        self.assertEqual((status, steps), (0, ["two"]), output)
        self.assertRegex(output, r" - +before +one\n +\d+  passed   two\n +- +before +three\n$")

    def test_a_step_runs_again_if_one_of_its_files_a_mode_or_a_swift_package_has_changed(self):
        self.assertEqual(self.verify()[2], ["one", "two", "three"])
        (self.checkout / "docs/a.md").write_text("2")
        self.assertEqual(self.verify()[2], ["two", "three"])
        (self.checkout / "Sources/a.swift").chmod(0o755)
        self.assertEqual(self.verify()[2], ["one", "two", "three"])
        (self.checkout / "Package.resolved").write_text("2")
        self.assertEqual(self.verify()[2], ["one", "two", "three"])
        (self.checkout / "Sources/a.swift").unlink()
        (self.checkout / "-x").write_text("1")
        self.assertEqual(self.verify()[2], ["one", "two", "three"])
        self.assertEqual(self.verify()[2], [])

    def test_a_step_that_failed_after_a_pass_runs_again(self):
        self.assertEqual(self.verify()[0], 0)
        status, output, steps = self.verify("two", FAILING="two")
        self.assertEqual((status, steps), (1, ["two"]), output)
        self.assertEqual(self.verify()[2], ["two"])

    def test_without_git_every_step_runs(self):
        for _ in range(2):
            status, output, steps = self.verify(GIT_DIR="/nowhere")
            self.assertEqual((status, steps), (0, ["one", "two", "three"]), output)

    def test_a_step_without_paths_runs_only_if_it_is_named_and_then_each_time(self):
        for _ in range(2):
            self.assertEqual(self.verify("named")[2], ["named"])
        self.assertNotIn("named", self.verify()[2])

    def test_a_run_with_an_argument_is_limited_by_the_total_and_is_not_a_pass_of_the_step(self):
        status, output, _ = self.verify("one", "more", "X=1 2")
        self.assertEqual(status, 0, output)
        self.assertIn("\nmake -s one more X=1 2\n", "\n" + self.calls.read_text())
        self.assertRegex(output, r"=== one \(at most 21\d{3} s")
        self.assertEqual(self.verify()[2], ["one", "two", "three"])

    def test_an_argument_for_a_step_without_arguments_is_an_error(self):
        status, output, steps = self.verify("two", "three")
        self.assertEqual((status, steps), (64, []), output)
        self.assertIn("the step two has no arguments: three", output)

    def test_a_pass_stays_valid_after_a_run_with_an_argument_unless_that_run_fails(self):
        self.assertEqual(self.verify("one")[0], 0)
        self.assertEqual(self.verify("one", "more")[0], 0)
        self.assertEqual(self.verify()[2], ["two", "three"])
        self.assertEqual(self.verify("one", "more", FAILING="more")[0], 1)
        self.assertEqual(self.verify()[2], ["one"])

    def test_the_command_of_each_step_exists(self):
        text, makefile = (ROOT / "Tests/Tools/Gate/verify").read_text(), (ROOT / "Makefile").read_text()
        steps = re.search(r"^  cat <<STEPS\n(.*?)^STEPS$", text, re.M | re.S)[1].splitlines()
        self.assertGreater(len(steps), 20)
        for step in steps:
            command = step.split("|")[3]
            where = makefile if command.startswith("make -s ") else text
            pattern = command.removeprefix("make -s ") + (":" if where is makefile else r"\(\) \{")
            self.assertRegex(where, re.compile("^" + pattern, re.M))

    def test_an_unknown_step_is_an_error_that_lists_the_steps(self):
        for arguments in [["four"], ["one\ntwo"], ["one|60"]]:
            status, output, steps = self.verify(*arguments)
            self.assertEqual((status, steps), (64, []), output)
            self.assertIn("The steps are:\n  one [X]\n  two \n  three \n  named \n", output)

    def test_the_seed_is_the_date_unless_the_caller_sets_one(self):
        self.assertRegex(self.verify("one")[1], r"^BEACON_SEED=\d{8}\n")
        self.assertRegex(self.verify("one", BEACON_SEED="7")[1], r"^BEACON_SEED=7\n")


if __name__ == "__main__":
    unittest.main()
