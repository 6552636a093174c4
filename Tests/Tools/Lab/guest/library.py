"""Runs a program that uses the libraries, each time in a separate environment, as Tests/Tools/Lab/library plans it.

Each run leaves two files: `scan.out` has the output of the program, and `result.json` its exit status, the time of
the script's start, and the problems.
"""
import json
import pathlib
import shutil
import subprocess

from stack import Bluetoothd, Controller, Gateway, StackError, now, rfkill, wait_until


class Run:
    """One run of the program."""

    def __init__(self, plan, binary, folder):
        self._plan, self._folder, self._output = plan, folder, folder / "scan.out"
        # `Gateway` starts the program with the rights and the user of the plan, and without a configuration.
        self._program = Gateway(binary, folder, {"user": plan["user"], "capabilities": plan["capabilities"], "config": ""})
        self._log = open(folder / "bluetoothd.log", "ab")
        self._bluetoothd = Bluetoothd(self._log, plan["bluetoothd"] or ())
        self._controllers = []
        self.result = {"problems": [], "status": None, "zero": None}

    def run(self):
        """Starts the environment and the program, and waits until the program ends on its own."""
        rfkill(False)
        self._controllers = [Controller(self._folder, n, each) for n, each in enumerate(self._plan["controllers"])]
        if self._plan["bluetoothd"] is not None:
            self._bluetoothd.start()
        with open(self._output, "wb") as output:
            process = self._program.process = self._program.spawn(*self._plan["arguments"], output=output, error=output)
        if self._plan["expected"]:
            wait_until("the program to report that it scans", 60, lambda: process.poll() is not None or all(
                "hci%d scans: " % n in self._output.read_text() for n in range(len(self._controllers))))
        # bluetoothd is slow at first, because it has just been read from the disk.
        self.result["zero"] = now() + 2
        for controller in self._controllers:
            controller.send({"do": "begin", "at": self.result["zero"]})
        self.result["status"] = process.wait(self._plan["seconds"])

    def end(self):
        """Ends everything that still runs."""
        if self._program.process:
            self._program.end()
        self._bluetoothd.end()
        for controller in self._controllers:
            controller.end()
        rfkill(False)


def perform(plans, binary, out):
    """Performs all runs, one after the other."""
    for plan in plans:
        print("begin", plan["name"], flush=True)
        folder = pathlib.Path("/run/lab") / plan["name"]
        folder.mkdir()
        run = Run(plan, binary, folder)
        for step in (run.run, run.end):
            try:
                step()
            except (OSError, StackError, subprocess.SubprocessError) as problem:
                run.result["problems"].append(str(problem))
        (folder / "result.json").write_text(json.dumps(run.result, indent=1))
        shutil.copytree(folder, out / plan["name"])
        shutil.rmtree(folder)
        print("end", plan["name"], flush=True)
