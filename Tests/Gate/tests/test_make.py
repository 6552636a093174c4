"""Commands of the Makefile that the gate depends on: those that need the network are retried."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]


class MakeTests(unittest.TestCase):
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
