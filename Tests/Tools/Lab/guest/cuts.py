"""What power cuts leave of a disk: each is made, mounted, recovered by a gateway, and looked at.

The plan says where to cut (`at`, how many writes of the log were made) and what becomes of those that no flush followed
(`fate`, `seed`), and how many a disk that lies took back (`lied`). Of each cut a line goes to `cuts.jsonl`: how many lines had been shipped by then, and what is wrong.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import time

from broker import MAGIC, MARKS
from stack import Gateway, StackError, broker, tool, wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from lab import writelog  # noqa: E402

IMAGE, CUT = pathlib.Path("/run/lab/disk.img"), pathlib.Path("/run/lab/cut.img")


def numbered(folder, twice):
    """number → payload of the whole lines in a folder's segments; `twice` takes the numbers that stand there twice."""
    found = {}
    for path in sorted(folder.glob("events-*.jsonl")):
        for line in path.read_bytes().split(b"\n")[:-1]:
            try:
                value = json.loads(line)
                value = value.get("payload", value)
            except (ValueError, AttributeError):
                continue  # torn, or zeros
            if "sequence" in value and value["type"] != "evidence":
                if value["sequence"] in found:
                    twice.append(value["sequence"])
                found[value["sequence"]] = value
    return found


def missing(shipped, found, when):
    """What is wrong with the lines that were shipped."""
    gone = [number for number, line in shipped.items() if number not in found]
    other = [number for number, line in shipped.items() if number in found and found[number] != line]
    return (["%s: %d lines that were shipped are gone, the first %d" % (when, len(gone), gone[0])] if gone else []) + (
        ["%s: number %d says something else than was shipped" % (when, other[0])] if other else [])


class Cut:
    """One cut: from the image to what is wrong with it."""

    def __init__(self, plan, binary, folder, shipped):
        self._plan, self._binary, self._folder, self._shipped = plan, binary, folder, shipped
        self.problems, self.lines = [], 0

    def look(self):
        """Mounts the image, has the gateway recover it, and looks before and afterwards."""
        disk = self._folder / "disk"
        disk.mkdir(parents=True)
        tool("mount", "-o", "loop", str(CUT), str(disk))
        try:
            self._recover(disk)
        finally:
            subprocess.run(["umount", "-l", str(disk)])

    def _recover(self, disk):
        # A cut in the very beginning may leave no folder yet; then nothing was shipped.
        before = numbered(disk / "events", [])
        self.problems += missing(self._shipped, before, "after the cut")
        for each in ("events", "state"):
            (disk / each).mkdir(exist_ok=True)
            shutil.chown(disk / each, self._plan["user"])
        taking = broker(self._folder / "broker.out")
        gateway = Gateway(self._binary, self._folder, self._plan)
        try:
            gateway.start()
            wait_until("the gateway is up", 30, lambda: gateway.process.poll() is not None
                       or "; writes to " in (self._folder / "gateway.log").read_text())
            wait_until("something new is on the disk", 10, lambda: gateway.process.poll() is not None
                       or max(numbered(disk / "events", []), default=0) > max(before, default=0))
            time.sleep(0.2)
        except StackError as problem:
            self.problems.append(str(problem))
        status = gateway.end()
        if status != 0:
            self.problems.append("the gateway ended with %s: %s" % (
                status, (self._folder / "gateway.log").read_text().strip().splitlines()[-1:]))
        taking.terminate()
        taking.wait()
        twice = []
        after = numbered(disk / "events", twice)
        self.lines = len(after)
        self.problems += missing(self._shipped, after, "after the recovery")
        self.problems += ["number %d stands there twice" % number for number in twice[:1]]
        new = [number for number in after if number not in before]
        if new and self._shipped and min(new) <= max(self._shipped):
            self.problems.append("number %d was given anew, and %d had been shipped" % (min(new), max(self._shipped)))
        if not new:
            self.problems.append("it wrote nothing afterwards")
        for line in (self._folder / "broker.out").read_text().splitlines():
            line = json.loads(line)
            if self._shipped.get(line["sequence"], line) != line:
                self.problems.append("number %d was shipped again with something else" % line["sequence"])
                break


def perform(plan, binary, out):
    """Makes all cuts, in the order of their places."""
    shipped = [json.loads(line) for line in (out / plan["shipped"]).read_text().splitlines()]
    by_number = {line["sequence"]: line for line in shipped}
    shutil.copyfile(out / "before.img", IMAGE)
    with open(out / "writes.log", "rb") as log, open(IMAGE, "r+b") as image, open(out / "cuts.jsonl", "a") as results:
        found = writelog.entries(log)
        marks = list(writelog.marks(log, found, MAGIC, MARKS))
        disk = writelog.Disk(image, log, found)
        for number, each in enumerate(plan["cuts"]):
            # Of a control the disk had lied: its last writes are gone, flushed or not.
            disk.advance(each["at"] - each["lied"])
            image.flush()
            shutil.copyfile(IMAGE, CUT)
            with open(CUT, "r+b") as copy:
                disk.cut(copy, writelog.fate(each["fate"], each["seed"]))
            told = {number: by_number[number] for count, number in marks if count <= each["at"]}
            folder = pathlib.Path("/run/lab/cut")
            cut = Cut(plan["gateway"], binary, folder, told)
            try:
                cut.look()
            except (OSError, StackError) as problem:
                cut.problems.append(str(problem))
            results.write(json.dumps({**each, "shipped": len(told), "lines": cut.lines, "problems": cut.problems}) + "\n")
            results.flush()
            if cut.problems and not each["lied"]:
                shutil.copytree(folder, out / ("cut-%d" % number), ignore=shutil.ignore_patterns("disk", "*.sock"))
                shutil.copyfile(CUT, out / ("cut-%d" % number) / "cut.img")
            shutil.rmtree(folder)
            print("cut %d of %d" % (number + 1, len(plan["cuts"])), flush=True)
