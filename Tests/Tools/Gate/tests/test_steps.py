"""Tests the steps of the gate: their limits, their processes and their status."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import unittest.mock

# Durations of `sleep` that no other process uses, because they contain the identifier of this process.
FIRST, SECOND = f"871.{os.getpid()}", f"872.{os.getpid()}"
STEPS = pathlib.Path(__file__).resolve().parent.parent / "steps"
SCRIPT = """set -euo pipefail
self=$0
budget=%d
. %s
grace=1
pause=0.02
%s
[[ ${1-} != --do ]] || run_function "$@"
trap 'stop_group; remove_work' EXIT
%s
print_table
"""


def run(functions, steps, budget=60):
    """Returns the exit status and the output of a script with these functions and steps."""
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "script")
        script.write_text(SCRIPT % (budget, STEPS, functions, steps))
        ended = subprocess.run(["bash", script], capture_output=True, text=True, timeout=120)
    return ended.returncode, ended.stdout + ended.stderr


class StepsTests(unittest.TestCase):
    def test_a_step_that_passes_is_listed_in_the_table(self):
        status, output = run("good() { echo works; }", "step first 20 good")
        self.assertEqual(status, 0, output)
        self.assertIn("\nworks\n", output)
        self.assertRegex(output, r"\n +\d+  passed   first\n")

    def test_a_failure_inside_a_step_ends_it_even_if_the_caller_tests_its_status(self):
        status, output = run("bad() { false; echo continued; }", "step first 20 bad || echo looked at $?\nstep second 20 true")
        self.assertEqual(status, 0, output)
        self.assertIn("looked at 1", output)
        self.assertNotIn("continued", output)
        self.assertRegex(output, r"\n +\d+  FAILED   first\n +\d+  passed   second\n")

    def test_a_failed_step_ends_the_script_if_the_caller_does_not_test_its_status(self):
        status, output = run("bad() { return 7; }", "step first 20 bad\nstep second 20 true")
        self.assertEqual(status, 7, output)
        self.assertNotIn("=== second", output)

    def test_a_step_that_ignores_sigterm_is_named_and_killed_with_its_child_processes(self):
        status, output = run(f"stubborn() {{ trap '' TERM; echo stays; sleep {FIRST} & while :; do sleep 0.1; done; }}",
                             "step patience 3 stubborn")
        self.assertEqual(status, 124, output)
        self.assertIn("=== patience was ended: it reached its limit of 3 s. Its last 50 lines:\nstays", output)
        self.assertEqual(running(FIRST), [])

    def test_output_that_a_step_writes_when_it_gets_sigterm_is_printed(self):
        status, output = run("polite() { trap 'echo farewell; exit 3' TERM; while :; do sleep 0.1; done; }",
                             "step patience 3 polite")
        self.assertEqual(status, 124, output)
        self.assertIn("farewell", output)

    def test_a_process_that_a_step_leaves_in_another_session_is_named_and_killed(self):
        # The new process has the command line of the script until it executes `sleep`, so the step waits for that.
        status, output = run(f"leaves() {{ setsid sleep {SECOND} & for _ in {{1..500}}; do "
                             f"! grep -qz ^sleep /proc/$!/cmdline || return 0; sleep 0.02; done; }}", "step first 20 leaves")
        self.assertEqual(status, 0, output)
        self.assertRegex(output, r"=== first left running, now killed:\n +\d+ sleep " + re.escape(SECOND))
        self.assertEqual(running(SECOND), [])

    def test_processes_of_a_nested_step_end_if_the_outer_script_gets_sigterm(self):
        with tempfile.TemporaryDirectory() as folder:
            inner = pathlib.Path(folder, "inner")
            inner.write_text(SCRIPT % (60, STEPS, f"stubborn() {{ trap '' TERM; touch {folder}/started; sleep {FIRST}; }}",
                                       "step inner 50 stubborn"))
            status, output = run(f"outer() {{ bash {inner}; }}",
                                 f"(for _ in {{1..300}}; do [[ ! -e {folder}/started ]] || break; sleep 0.1; done; kill -TERM $$) &\n"
                                 "step outer 50 outer")
            self.assertNotEqual(status, 0, output)
            self.assertTrue(pathlib.Path(folder, "started").exists())
            self.assertEqual(running(FIRST), [])

    def test_variables_of_the_caller_do_not_change_the_limits_or_the_settings_of_make(self):
        with unittest.mock.patch.dict(os.environ, SECONDS="5000", BUILD_DIR="other", MAKEFLAGS="i"):
            status, output = run('shows() { echo "${BUILD_DIR-none} ${MAKEFLAGS-none}"; }', "step first 20 shows")
        self.assertEqual(status, 0, output)
        self.assertIn("\nnone none\n", output)

    def test_the_limit_for_all_steps_ends_a_step_and_prevents_later_ones(self):
        status, output = run("slow() { sleep 60; }", "step first 50 slow || true\nstep second 50 true", budget=1)
        self.assertEqual(status, 124, output)
        self.assertIn("=== first was ended: it reached the limit of 1 s for all steps", output)
        self.assertIn("=== second: not started, all steps together have reached the limit of 1 s for all steps", output)

    def test_temporary_files_of_a_step_are_removed_even_below_a_read_only_mount(self):
        status, output = run("files() { mkdir $(mktemp -d)/held; cd $TMPDIR/*/held; pwd; touch file\n"
                             "mount --bind . . || return 0; mount -o remount,bind,ro .; }",
                             "step first 20 files; folder=$work; trap 'remove_work; ls -d $folder' EXIT")
        folder = re.search(r"^(/.*)/tmp/[^/]+/held$", output, re.M)[1]
        self.assertIn(f"ls: cannot access '{folder}'", output)
        self.assertEqual(status, 2, output)

    def test_temporary_files_are_removed_if_the_path_has_a_space_and_a_symbolic_link(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "a b").mkdir()
            (pathlib.Path(folder) / "link").symlink_to("a b")
            with unittest.mock.patch.dict(os.environ, TMPDIR=folder + "/link"):
                status, output = run('files() { mkdir "$TMPDIR"/x; mount --bind "$TMPDIR"/x "$TMPDIR"/x || return 0\n'
                                     'touch "$TMPDIR"/x/file; }', "step first 20 files")
            self.assertEqual(status, 0, output)
            self.assertEqual(list((pathlib.Path(folder) / "a b").iterdir()), [], output)

    def test_too_little_disk_space_is_an_error_that_names_the_required_size(self):
        status, output = run("", "free_space=0; check_disk; free_space=10000000; check_disk")
        self.assertEqual(status, 1, output)
        self.assertIn("GB of free disk space; it must have 10000000. Remove files and try again", output)


def running(seconds):
    """Returns the processes that run `sleep` with this duration."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_text() == f"sleep\0{seconds}\0":
                found.append(path)
        except OSError:
            pass
    return found


if __name__ == "__main__":
    os.environ.pop("GATE_STEP", None)
    unittest.main()
