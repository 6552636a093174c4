"""Makes power cuts of a disk: reconstructs the disk, mounts it, lets a gateway recover it, and checks the result.

The plan has the position of each cut (`at`: the number of writes and flushes in the log before it), the fate of the
writes after the last flush (`fate`, `seed`), and the number of last writes and flushes that a disk with false
confirmations loses (`lied`). The result of each cut is a line in `cuts.jsonl`: the number of lines published before
it, the number of lines after the recovery, and the problems.
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
    """Returns the complete lines in a folder's segments by sequence number, without evidence. Each number that occurs
    again is appended to `twice`."""
    found = {}
    for path in sorted(folder.glob("events-*.jsonl")):
        for line in path.read_bytes().split(b"\n")[:-1]:
            try:
                value = json.loads(line)
                value = value.get("payload", value)
            except (ValueError, AttributeError):
                continue  # incomplete, or zeros
            if "sequence" in value and value["type"] != "evidence":
                if value["sequence"] in found:
                    twice.append(value["sequence"])
                found[value["sequence"]] = value
    return found


def missing(published, found, when):
    """Returns the problems of published lines: the missing ones, and the first one that differs. `when` introduces each
    problem."""
    gone = [number for number, line in published.items() if number not in found]
    other = [number for number, line in published.items() if number in found and found[number] != line]
    return (["%s: %d published lines are missing, first number %d" % (when, len(gone), gone[0])] if gone else []) + (
        ["%s: line %d differs from the published one" % (when, other[0])] if other else [])


class Cut:
    """A power cut: checks its image and collects the problems."""

    def __init__(self, plan, binary, folder, published):
        self._plan, self._binary, self._folder, self._published = plan, binary, folder, published
        self.problems, self.lines = [], 0

    def look(self):
        """Mounts the image, lets a gateway recover it, and checks the lines before and after the recovery."""
        disk = self._folder / "disk"
        disk.mkdir(parents=True)
        tool("mount", "-o", "loop", str(CUT), str(disk))
        try:
            self._recover(disk)
        finally:
            subprocess.run(["umount", "-l", str(disk)])

    def _recover(self, disk):
        # If the cut is right at the start, a folder can be missing. Then no line was published.
        before = numbered(disk / "events", [])
        self.problems += missing(self._published, before, "after the cut")
        for each in ("events", "state"):
            (disk / each).mkdir(exist_ok=True)
            shutil.chown(disk / each, self._plan["user"])
        taking = broker(self._folder / "broker.out")
        gateway = Gateway(self._binary, self._folder, self._plan)
        try:
            gateway.start()
            wait_until("the gateway to start writing", 30, lambda: gateway.process.poll() is not None
                       or "; writes to " in (self._folder / "gateway.log").read_text())
            wait_until("a new line on the disk", 10, lambda: gateway.process.poll() is not None
                       or max(numbered(disk / "events", []), default=0) > max(before, default=0))
            time.sleep(0.2)
        except StackError as problem:
            self.problems.append(str(problem))
        status = gateway.end()
        if status != 0:
            self.problems.append("the gateway exited with %s: %s" % (
                status, (self._folder / "gateway.log").read_text().strip().splitlines()[-1:]))
        taking.terminate()
        taking.wait()
        twice = []
        after = numbered(disk / "events", twice)
        self.lines = len(after)
        self.problems += missing(self._published, after, "after the recovery")
        self.problems += ["number %d occurs twice" % number for number in twice[:1]]
        new = [number for number in after if number not in before]
        if new and self._published and min(new) <= max(self._published):
            self.problems.append("new number %d is not above the published number %d" % (min(new), max(self._published)))
        if not new:
            self.problems.append("the gateway wrote no line after the cut")
        for line in (self._folder / "broker.out").read_text().splitlines():
            line = json.loads(line)
            if self._published.get(line["sequence"], line) != line:
                self.problems.append("line %d was published again with different content" % line["sequence"])
                break


def perform(plan, binary, out):
    """Makes all cuts, in the order of their positions."""
    published = [json.loads(line) for line in (out / plan["published"]).read_text().splitlines()]
    by_number = {line["sequence"]: line for line in published}
    shutil.copyfile(out / "before.img", IMAGE)
    with open(out / "writes.log", "rb") as log, open(IMAGE, "r+b") as image, open(out / "cuts.jsonl", "a") as results:
        found = writelog.entries(log)
        marks = list(writelog.marks(log, found, MAGIC, MARKS))
        disk = writelog.Disk(image, log, found)
        for number, each in enumerate(plan["cuts"]):
            # In a control, the disk has confirmed flushes falsely: its last writes are lost, flushed or not.
            disk.advance(each["at"] - each["lied"])
            image.flush()
            shutil.copyfile(IMAGE, CUT)
            with open(CUT, "r+b") as copy:
                disk.cut(copy, writelog.fate(each["fate"], each["seed"]))
            expected = {number: by_number[number] for count, number in marks if count <= each["at"]}
            folder = pathlib.Path("/run/lab/cut")
            cut = Cut(plan["gateway"], binary, folder, expected)
            try:
                cut.look()
            except (OSError, StackError) as problem:
                cut.problems.append(str(problem))
            results.write(json.dumps({**each, "published": len(expected), "lines": cut.lines, "problems": cut.problems}) + "\n")
            results.flush()
            if cut.problems and not each["lied"]:
                shutil.copytree(folder, out / ("cut-%d" % number), ignore=shutil.ignore_patterns("disk", "*.sock"))
                shutil.copyfile(CUT, out / ("cut-%d" % number) / "cut.img")
            shutil.rmtree(folder)
            print("cut %d of %d" % (number + 1, len(plan["cuts"])), flush=True)
