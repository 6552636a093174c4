"""Boots as often as it takes, judges each scenario as soon as it has ended, and prints what came of it."""
import concurrent.futures
import json
import shutil
import sys
import threading
import time
import traceback

from . import keeping, machine
from .checks import Hard, judge
from .outcome import Outcome

# An advertisement that was this late says that the emulated machine stood still: what follows from that is no evidence.
STALL = 1.0
# Where more than this share of the scenarios (one at least may be) passed only at their second try, the machine is too busy
# for the rest to be evidence, and the whole fails.
SECOND_TRIES = 0.1
# What the first try left is kept under this name.
FIRST = ".first"


def say(text):
    print("lab: " + text, file=sys.stderr, flush=True)


class Session:
    """The scenarios of one call, and what came of them."""

    def __init__(self, scenarios, out, trace=False, machines=1):
        """`trace`: the guest records all HCI and D-Bus traffic, too. `machines`: how many guests run at a time, each with
        scenarios of its own; they wait most of the time."""
        self._out, self._trace, self._scenarios = out, trace, {each.name: each for each in scenarios}
        self._machines, self._tables, self._judging = machines, {}, threading.Lock()
        # Of each try of each scenario, what was wrong and how far the machine was behind.
        self._tries = {name: [] for name in self._scenarios}

    def run(self, kernel, binary):
        """Runs and judges all; those that failed while the machine stood still once more. Whether all passed."""
        self._boot_all(kernel, binary, list(self._scenarios))
        stalled = [name for name, tries in self._tries.items() if excused(*tries[-1])]
        if stalled:
            say("the machine stood still in %s: once more; what they left the first time is in NAME%s" % (
                ", ".join(stalled), FIRST))
            for name in stalled:
                shutil.rmtree(self._out / (name + FIRST), ignore_errors=True)
                (self._out / name).rename(self._out / (name + FIRST))
            self._boot_all(kernel, binary, stalled)
        return self._finish()

    def keep(self, folder):
        """Keeps what is judged of each scenario in `folder`, for the lab's own tests."""
        for name in self._scenarios:
            keeping.keep(self._out / name, folder / (name + ".json.xz"))

    def judge(self):
        """Judges what is in the folder already. Whether all passed."""
        for name in self._scenarios:
            self._judge(name, 0)
        return self._finish()

    def _boot_all(self, kernel, binary, names):
        shares = share(names, {name: each.seconds for name, each in self._scenarios.items()}, self._machines)
        if len(shares) == 1:
            return self._boot_until_done(kernel, binary, names, self._out)
        with concurrent.futures.ThreadPoolExecutor(len(shares)) as pool:
            runs = []
            for number, each in enumerate(shares, 1):
                folder = self._out / ("machine-%d" % number)
                folder.mkdir(exist_ok=True)
                runs.append(pool.submit(self._boot_until_done, kernel, binary, each, folder))
            for run in runs:
                run.result()

    def _boot_until_done(self, kernel, binary, names, folder):
        waiting = list(names)
        while waiting:
            before, running = len(waiting), []
            try:
                self._boot(kernel, binary, waiting, running, folder)
            except machine.MachineError as problem:
                if not running:
                    raise
                waiting.remove(running[0])
                self._note(running[0], [str(problem)], 0, 0)
            if len(waiting) == before:
                raise machine.MachineError("the virtual machine ran nothing; see %s" % folder)

    def _boot(self, kernel, binary, waiting, running, folder):
        """Boots one machine that shares `folder`, and judges what it has run, which leaves `waiting`; in `running` stands
        what runs."""
        chosen = [self._scenarios[name] for name in waiting]
        plan = {"binary": str(binary), "trace": self._trace, "scenarios": [each.plan() for each in chosen]}
        for each in chosen:
            for place in {folder, self._out}:
                shutil.rmtree(place / each.name, ignore_errors=True)  # of an earlier run
        (folder / "plan.json").write_text(json.dumps(plan, indent=1))
        say("booting, for %d scenarios; everything is left in %s" % (len(chosen), self._out))
        began = time.monotonic()
        # Several times what they take where the host has nothing else to do.
        for line in machine.boot(kernel, folder, 180 + sum(90 + 3 * each.seconds for each in chosen)):
            word, _, name = line.partition(" ")
            if word == "begin" and name in waiting:
                began, running[:] = time.monotonic(), [name]
            elif word == "end" and running == [name]:
                self._fetch(name, folder)
                waiting.remove(name)
                self._judge(name, time.monotonic() - began)
                running.clear()
            else:
                print("guest: " + line, file=sys.stderr, flush=True)

    def _fetch(self, name, folder):
        """Moves what a scenario left from its machine's folder to where it is judged, with how slow that machine is."""
        if not (folder / name).exists():
            return
        if folder != self._out:
            (folder / name).rename(self._out / name)
        if (folder / "calibration").exists():
            shutil.copy(folder / "calibration", self._out / name / "calibration")

    def _judge(self, name, seconds):
        with self._judging:
            self._judge_alone(name, seconds)

    def _judge_alone(self, name, seconds):
        problems, late = [], 0
        try:
            if not (self._out / name / "report.json").exists():
                raise FileNotFoundError("%s was not run, or not to its end" % (self._out / name))
            outcome = Outcome(self._scenarios[name], self._out / name)
            late = outcome.late()
            problems = judge(outcome)
            for check in self._scenarios[name].checks:
                for title, row in check.rows(outcome) if hasattr(check, "rows") else ():
                    self._tables.setdefault(title, {})[name] = row
        except Exception:  # whatever is wrong with it, the others are judged
            problems.append("what it left can't be judged: " + traceback.format_exc())
        self._note(name, problems, late, seconds)

    def _note(self, name, problems, late, seconds):
        print("%s  %-40s %5.0f s%s" % ("FAIL" if problems else "PASS", name, seconds,
                                      "   the machine stood still for %.1f s" % late if late > STALL else ""), flush=True)
        self._tries[name].append((problems, late))
        for problem in problems:
            print("        " + problem.replace("\n", "\n        "), flush=True)

    def _finish(self):
        for title, rows in self._tables.items():
            header = list(next(iter(rows.values())))
            print("\n%s\n\n| %s |\n|%s" % (title, " | ".join(header), "---|" * len(header)))
            for row in rows.values():
                print("| %s |" % " | ".join(str(value) for value in row.values()))
        summary, passed = summarize(self._tries)
        print("\n" + summary)
        return passed


def share(names, seconds, machines):
    """The names, shared out among so many machines that each has about as long to run; each share in the order that it was
    given in."""
    shares = [[] for _ in range(max(1, min(machines, len(names))))]
    for name in sorted(names, key=lambda name: -seconds[name]):
        min(shares, key=lambda each: sum(seconds[other] for other in each)).append(name)
    return [sorted(each, key=names.index) for each in shares]


def excused(problems, late):
    """Whether a failure says nothing, since the machine stood still, and nothing is wrong that this can't explain."""
    return bool(problems) and late > STALL and not any(isinstance(each, Hard) for each in problems)


def summarize(tries):
    """What is said at the end of the tries of each scenario (problems, and how far the machine was behind), and whether the
    whole passed: each scenario at its last try, and few at their second."""
    failed = [name for name, each in tries.items() if not each or each[-1][0]]
    second = [name for name, each in tries.items() if len(each) > 1 and not each[-1][0]]
    too_many = len(second) > max(1, SECOND_TRIES * len(tries))
    lines = ["%d of %d scenarios passed%s" % (
        len(tries) - len(failed), len(tries), ", %d of them only at the second try" % len(second) if second else "")]
    lines += ["  FAIL  " + name for name in failed]
    for name in second:
        problems, late = tries[name][0]
        lines.append("  TWICE %s: the machine stood still for %.1f s at the first try, when: %s" % (name, late, problems[0]))
    if too_many:
        lines.append("  FAIL  %d passed only at the second try: this machine is too busy for the others to say much" % len(second))
    return "\n".join(lines), not failed and not too_many
