"""Tests commands of the Makefile on which the gate depends: without an adapter or a terminal, `make run` must end by
itself, and network commands must be retried."""

import os
import pathlib
import pty
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]


def make_run(adapters, terminals):
    """Returns the first argument of each call of the program by `make run`.

    adapters: their names; terminals: the standard streams that are terminals (0, 1).
    """
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write(folder / "beacon-gateway", f'echo "$1" >>{folder}/calls')
        for name in adapters:
            (folder / "adapters" / name).mkdir(parents=True)
        main, end = pty.openpty()
        try:
            streams = [end if stream in terminals else subprocess.DEVNULL for stream in (0, 1)]
            subprocess.run(["make", "-s", "-C", ROOT, "run", "SWIFT=true", f"BUILT={folder}", f"ADAPTERS={folder}/adapters"],
                           stdin=streams[0], stdout=streams[1], stderr=subprocess.DEVNULL, check=True, timeout=120)
        finally:
            os.close(main)
            os.close(end)
        return (folder / "calls").read_text().split()


def write(path, script):
    path.write_text("#!/bin/sh\n" + script + "\n")
    path.chmod(0o755)


class MakeTests(unittest.TestCase):
    def test_make_run_scans_with_an_adapter_and_terminals_and_otherwise_replays_a_file(self):
        self.assertEqual(make_run(["hci0"], {0, 1}), ["scan"])
        for adapters, terminals in [([], {0, 1}), (["hci0"], {0}), (["hci0"], {1}), (["hci0"], set())]:
            self.assertEqual(make_run(adapters, terminals), ["replay"])

    def test_packages_are_installed_in_three_attempts_that_update_the_lists_if_installing_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            write(folder / "dpkg-query", "exit 1")
            write(folder / "sudo", 'exec "$@"')
            write(folder / "apt-get", f'echo "$@" >>{folder}/calls; test "$(wc -l <{folder}/calls)" -ge 6')
            ended = subprocess.run(["make", "-s", "-C", ROOT, "deps-build"], capture_output=True, text=True, timeout=120,
                                   env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "THRICE_PAUSE": "0"})
            calls = (folder / "calls").read_text().splitlines()
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual([next(word for word in call.split() if word in ("install", "update")) for call in calls],
                         ["install", "update", "install", "update", "install", "update", "install"])
        self.assertEqual(ended.stderr.count("of 3 failed with"), 2, ended.stderr)

    def test_a_command_that_needs_the_network_runs_up_to_three_times(self):
        for succeeds_at, status, attempts in [(1, 0, 1), (2, 0, 2), (3, 0, 3), (9, 7, 3)]:
            with tempfile.TemporaryDirectory() as folder:
                script = f'echo x >>{folder}/log; test $(wc -l <{folder}/log) -ge {succeeds_at} || exit 7'
                ended = subprocess.run([ROOT / "Tests/Tools/thrice", "bash", "-c", script], capture_output=True, text=True,
                                       env={**os.environ, "THRICE_PAUSE": "0"}, timeout=60)
                log = pathlib.Path(folder, "log").read_text()
            self.assertEqual((ended.returncode, len(log.split())), (status, attempts))
            self.assertEqual(ended.stderr.count("of 3 failed with 7"), min(attempts, succeeds_at - 1))


if __name__ == "__main__":
    unittest.main()
