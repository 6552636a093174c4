"""Runs of a program that uses the libraries: each with surroundings of its own, as Tests/Tools/Lab/library plans them.

Of each run `hear.out` is left, what the program said, and `result.json`: how it ended, and when the script began.
"""
import json
import pathlib
import shutil
import subprocess

from stack import Bluetoothd, Controller, Gateway, StackError, now, rfkill, wait_until


class Run:
    """One run of the program."""

    def __init__(self, plan, binary, folder):
        self._plan, self._folder, self._output = plan, folder, folder / "hear.out"
        # A gateway's rights and user, and no configuration.
        self._program = Gateway(binary, folder, {"user": plan["user"], "capabilities": plan["capabilities"], "config": ""})
        self._log = open(folder / "bluetoothd.log", "ab")
        self._bluetoothd = Bluetoothd(self._log, plan["bluetoothd"] or ())
        self._controllers = []
        self.result = {"problems": [], "status": None, "zero": None}

    def run(self):
        """From the controllers to the program's own end."""
        rfkill(False)
        self._controllers = [Controller(self._folder, n, each) for n, each in enumerate(self._plan["controllers"])]
        if self._plan["bluetoothd"] is not None:
            self._bluetoothd.start()
        with open(self._output, "wb") as output:
            process = self._program.process = self._program.spawn(*self._plan["arguments"], output=output, error=output)
        if self._plan["expected"]:
            wait_until("the program says that it listens", 60, lambda: process.poll() is not None or all(
                "hci%d listens" % n in self._output.read_text() for n in range(len(self._controllers))))
        # bluetoothd, fresh from the disk, is slow at first.
        self.result["zero"] = now() + 2
        for controller in self._controllers:
            controller.say({"do": "begin", "at": self.result["zero"]})
        self.result["status"] = process.wait(self._plan["seconds"])

    def end(self):
        """Ends what is left."""
        if self._program.process:
            self._program.end()
        self._bluetoothd.end()
        for controller in self._controllers:
            controller.end()
        rfkill(False)


def perform(plans, binary, out):
    """All runs, one after the other."""
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
