"""Commands of the Makefile that the gate depends on: `make run` ends by itself, and network commands are retried."""

import os
import pathlib
import pty
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def make_run(adapters, terminal):
    """What `make run` calls the program with; `adapters` is the list of the machine's."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        program = folder / "beacon-gateway"
        program.write_text(f'#!/bin/sh\necho "$1" >>{folder}/calls\n')
        program.chmod(0o755)
        for name in adapters:
            (folder / "adapters" / name).mkdir(parents=True)
        main, end = pty.openpty()
        try:
            stream = end if terminal else subprocess.DEVNULL
            subprocess.run(["make", "-s", "-C", ROOT, "run", "SWIFT=true", f"BUILT={folder}", f"ADAPTERS={folder}/adapters"],
                           stdin=stream, stdout=stream, stderr=subprocess.DEVNULL, check=True, timeout=120)
        finally:
            os.close(main)
            os.close(end)
        return (folder / "calls").read_text().split()


class MakeTests(unittest.TestCase):
    def test_make_run_ends_by_itself_without_a_terminal(self):
        self.assertEqual(make_run(["hci0"], terminal=False), ["replay"])
        self.assertEqual(make_run([], terminal=True), ["replay"])
        self.assertEqual(make_run(["hci0"], terminal=True), ["scan"])

    def test_a_command_that_needs_the_network_runs_up_to_three_times(self):
        for succeeds_at, status, attempts in [(1, 0, 1), (2, 0, 2), (3, 0, 3), (9, 7, 3)]:
            with tempfile.TemporaryDirectory() as folder:
                script = f'echo x >>{folder}/log; test $(wc -l <{folder}/log) -ge {succeeds_at} || exit 7'
                ended = subprocess.run([ROOT / "Tests/Tools/thrice", "bash", "-c", script], capture_output=True, text=True,
                                       env={**os.environ, "THRICE_PAUSE": "0"}, timeout=60)
                log = pathlib.Path(folder, "log").read_text()
            self.assertEqual((ended.returncode, len(log.split())), (status, attempts))
            self.assertEqual(ended.stderr.count("failed with 7"), min(attempts, succeeds_at - 1))


if __name__ == "__main__":
    unittest.main()
