"""Tests the results of groups whose test process passes, fails, hangs, crashes or runs too few tests."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import re
import sys
import tempfile
import threading
import unittest
import unittest.mock

PATH = pathlib.Path(__file__).resolve().parent.parent / "suites"
LOADER = importlib.machinery.SourceFileLoader("suites", str(PATH))
suites = importlib.util.module_from_spec(importlib.util.spec_from_loader("suites", LOADER))
LOADER.exec_module(suites)

GOOD = """echo '◇ Test run started.'
echo '◇ Suite OneTests started.'
echo '◇ Test "a line is read" started.'
echo '✔ Test "a line is read" passed after 0.250 seconds.'
echo '◇ Test "each is read" started.'
echo '◇ Test case passing 1 argument x → 1 to "each is read" started.'
echo '✔ Test case passing 1 argument x → 1 to "each is read" passed after 0.1 seconds.'
echo '✔ Test "each is read" with 2 test cases passed after 3.5 seconds.'
echo '✔ Test run with 2 tests in 1 suite passed after 3.8 seconds.'
"""
SKIPPED = GOOD.replace("run with 2", "run with 3") + """echo '➜ Test "a full disk" skipped: "this user may not mount"'
"""
FAILED = """echo '◇ Test "a line is read" started.'
echo '✘ Test "a line is read" recorded an issue at OneTests.swift:5:9: Expectation failed: 1 == 2'
echo '✘ Test "a line is read" failed after 0.250 seconds with 1 issue.'
echo '✘ Test run with 1 test in 1 suite failed after 0.250 seconds with 1 issue.'
exit 1
"""
# A duration of `sleep` that no other process uses.
LONG = f"873.{os.getpid()}"
HANGS = f"""printf '%s' 'a prompt: '
echo '◇ Test "it hangs" started.'
setsid sleep {LONG} &
sleep {LONG}
"""


ALONE = """case "$*" in
*--list-tests) printf '%s\n' 'M.OneTests/`a line is read`()' 'M.OneTests/each(argument:)' 'M.TwoTests/only()' ;;
*'--filter ^M\\.OneTests/')
mkdir $FOLDER/running
sleep 0.3
rmdir $FOLDER/running
""" + GOOD + """;;
*'--filter ^M\\.TwoTests/')
mkdir $FOLDER/running || exit 5
""" + FAILED + """;;
*) exit 3 ;;
esac
"""


def run(script, *options, fewest=2, limit=60):
    """Returns the exit status and the output for a test process that runs this script."""
    suites.GROUPS = {"one": (fewest, [])}
    suites.USUAL = ["one"]
    with tempfile.TemporaryDirectory() as folder:
        debug = pathlib.Path(folder, "debug")
        debug.mkdir()
        bundle = debug / suites.BUNDLE
        bundle.write_text("#!/bin/bash\n" + script)
        bundle.chmod(0o755)
        arguments, sys.argv = sys.argv, ["suites", "--limit", str(limit), str(debug), *(options or ["one"])]
        output = io.StringIO()
        try:
            with contextlib.redirect_stdout(output), unittest.mock.patch.dict(os.environ, FOLDER=folder):
                status = suites.main()
        finally:
            sys.argv = arguments
    return status, output.getvalue()


class SuitesTests(unittest.TestCase):
    def test_passed_tests_are_counted_and_the_slowest_is_listed_first(self):
        status, output = run(GOOD)
        self.assertEqual(status, 0, output)
        self.assertEqual(output.splitlines()[-1], "2 passed, 0 failed")
        self.assertIn('The slowest:\n     3.5 s  one: "each is read"\n', output)

    def test_a_group_that_runs_fewer_tests_than_its_minimum_fails(self):
        status, output = run(GOOD, fewest=3)
        self.assertEqual(status, 1)
        self.assertIn("2 tests ran; there must be at least 3", output)

    def test_a_failed_test_is_printed_with_its_issue(self):
        status, output = run(FAILED, fewest=1)
        self.assertEqual(status, 1)
        self.assertIn("OneTests.swift:5:9", output)
        self.assertEqual(output.splitlines()[-1], "0 passed, 1 failed; failed: one")

    def test_a_test_skipped_for_a_missing_right_is_named_and_fails_only_if_this_user_may_mount(self):
        for right, expected, last in [(True, 1, "2 passed, 0 failed; failed: one"), (False, 0, "2 passed, 0 failed")]:
            with unittest.mock.patch.object(suites, "may_mount", return_value=right):
                status, output = run(SKIPPED)
            self.assertEqual(status, expected, output)
            self.assertIn('one: ➜ Test "a full disk" skipped: "this user may not mount"', output)
            self.assertEqual(output.splitlines()[-1], last)

    def test_a_test_skipped_for_another_reason_or_cancelled_is_a_failure(self):
        with unittest.mock.patch.object(suites, "may_mount", return_value=False):
            for line in ['a prompt: ➜ Test "a full disk" skipped: "it fails"',
                         '➜ Test "a full disk" was cancelled: "this user may not"']:
                status, output = run(SKIPPED + f"echo '{line}'\n")
                self.assertEqual(status, 1, output)
                self.assertIn("one: 1 skipped", output)

    def test_a_process_that_ends_before_its_last_test_fails_and_names_the_running_test(self):
        status, output = run("\n".join(GOOD.splitlines()[:4]) + "\necho '◇ Test \"it exits\" started.'\nexit 0", fewest=1)
        self.assertEqual(status, 1)
        self.assertIn('one: ended with 0 before its last test; running: "it exits"', output)
        self.assertEqual(output.splitlines()[-1], "1 passed, 0 failed; failed: one")

    def test_a_result_of_a_test_that_did_not_start_is_not_counted_and_a_wrong_total_fails(self):
        status, output = run("echo 'Its log: ✔ Test \"a copy\" passed after 1 seconds.'\n" + GOOD, fewest=3)
        self.assertEqual(status, 1)
        self.assertIn("2 tests ran; there must be at least 3", output)
        status, output = run(GOOD.replace("run with 2", "run with 3"))
        self.assertEqual(status, 1)
        self.assertIn("the total is 3 tests, but the log has 2 results and 0 skipped", output)

    def test_a_second_run_waits_for_the_first(self):
        with tempfile.TemporaryDirectory() as folder:
            first = suites.lock_logs(pathlib.Path(folder, "debug"))
            threading.Timer(0.5, first.close).start()
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                suites.lock_logs(pathlib.Path(folder, "debug")).close()
            self.assertTrue(first.closed)
            self.assertIn("waiting for another run", output.getvalue())

    def test_temporary_files_are_removed_after_exit_status_0_an_error_and_a_timeout(self):
        for rest in ["", "exit 3", "sleep 60"]:
            _, output = run(f"touch $TMPDIR/file; mkdir $TMPDIR/more; echo \"recorded an issue in $TMPDIR\"; {rest}", limit=1)
            folder = pathlib.Path(re.search("recorded an issue in (.+)", output)[1])
            self.assertFalse(folder.exists(), output)

    def test_each_suite_runs_alone_with_its_minimum_and_a_failure_does_not_end_the_others(self):
        status, output = run(ALONE, "--alone")
        self.assertEqual(status, 1)
        self.assertRegex(output, r"^M\.OneTests: 2 passed, 0 failed, \d+ s\nM\.TwoTests: 0 passed, 1 failed, \d+ s\n"
                               r"M\.TwoTests: exit")
        self.assertEqual(output.splitlines()[-1], "2 passed, 1 failed; failed: M.TwoTests")
        status, output = run(ALONE, "--alone", fewest=3)
        self.assertNotIn("there must be at least", output)
        with self.assertRaisesRegex(SystemExit, "has 3 tests; there must be at least 4"):
            run(ALONE, "--alone", fewest=4)
        status, output = run(ALONE.replace("'M.OneTests/each", "'M.OneTests/more()' 'M.OneTests/each"), "--alone")
        self.assertIn("M.OneTests: 2 tests ran; there must be at least 3", output)

    def test_a_test_that_hangs_is_named_and_all_its_processes_end(self):
        status, output = run(HANGS, fewest=0, limit=1)
        self.assertEqual(status, 1)
        self.assertIn('one: not ended after 1.0 s; running: "it hangs"', output)
        running = [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if read(path) == f"sleep\0{LONG}\0"]
        self.assertEqual(running, [])

    def test_a_crash_is_reported_with_its_signal_and_the_running_test(self):
        status, output = run("echo '◇ Test \"it traps\" started.'\nkill -ILL $$", fewest=0)
        self.assertEqual(status, 1)
        self.assertIn('one: ended by SIGILL; running: "it traps"', output)
        _, output = run("kill -35 $$", fewest=0)
        self.assertIn('one: ended by signal 35; running: no test', output)


def read(path):
    try:
        return path.read_text()
    except OSError:
        return ""


if __name__ == "__main__":
    unittest.main()
