"""Boots until all scenarios have run, checks each scenario as soon as it has ended, and prints the results."""
import concurrent.futures
import json
import shutil
import sys
import threading
import time
import traceback

from . import archive, machine
from .checks import ConclusiveProblem, judge
from .outcome import Outcome

# If an advertisement was later than this, in seconds, the emulated machine was paused. Failures that this can explain
# are not evidence.
STALL = 1.0
# If more than this share of the scenarios passed only at their second attempt, the machine is too busy for the other
# results to be reliable, and the complete run fails. One such scenario is always allowed.
SECOND_TRIES = 0.1
# The suffix of the folder with the results of the first attempt.
FIRST = ".first"


def log(text):
    print("lab: " + text, file=sys.stderr, flush=True)


class Session:
    """The scenarios of one call, with their results."""

    def __init__(self, scenarios, out, trace=False, machines=1):
        """`trace`: the guest records all HCI and D-Bus traffic too. `machines`: the number of guests that run at the
        same time, each with its own scenarios; they wait most of the time."""
        self._out, self._trace, self._scenarios = out, trace, {each.name: each for each in scenarios}
        self._machines, self._tables, self._judging = machines, {}, threading.Lock()
        # For each attempt of each scenario: the problems, and how late the machine was, in seconds.
        self._tries = {name: [] for name in self._scenarios}

    def run(self, kernel, binary):
        """Runs and checks all scenarios. Those that failed while the machine was paused run once more. Returns whether
        all passed."""
        self._boot_all(kernel, binary, list(self._scenarios))
        stalled = [name for name, tries in self._tries.items() if excused(*tries[-1])]
        if stalled:
            log("the machine was paused in %s, so these run again; the results of the first attempt are in NAME%s" % (
                ", ".join(stalled), FIRST))
            for name in stalled:
                shutil.rmtree(self._out / (name + FIRST), ignore_errors=True)
                (self._out / name).rename(self._out / (name + FIRST))
            self._boot_all(kernel, binary, stalled)
        return self._finish()

    def store(self, folder):
        """Stores the checked files of each scenario in `folder`, for the lab's own tests."""
        for name in self._scenarios:
            archive.store(self._out / name, folder / (name + ".json.xz"))

    def judge(self):
        """Checks the existing results in the folder. Returns whether all passed."""
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
                raise machine.MachineError("the virtual machine ran no scenario; see %s" % folder)

    def _boot(self, kernel, binary, waiting, running, folder):
        """Boots one machine that shares `folder`. Each scenario that has run is checked and removed from `waiting`.
        `running` contains the name of the scenario that runs."""
        chosen = [self._scenarios[name] for name in waiting]
        plan = {"binary": str(binary), "trace": self._trace, "scenarios": [each.plan() for each in chosen]}
        for each in chosen:
            for place in {folder, self._out}:
                shutil.rmtree(place / each.name, ignore_errors=True)  # of an earlier run
        (folder / "plan.json").write_text(json.dumps(plan, indent=1))
        log("booting for %d scenarios; all results are stored in %s" % (len(chosen), self._out))
        began = time.monotonic()
        # Several times as long as they take on an idle host.
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
        """Moves the results of a scenario from its machine's folder to the folder of the checks, and adds how slow that
        machine is."""
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
                raise FileNotFoundError("%s has no report.json: the scenario did not run, or did not finish" % (
                    self._out / name))
            outcome = Outcome(self._scenarios[name], self._out / name)
            late = outcome.late()
            problems = judge(outcome)
            for check in self._scenarios[name].checks:
                for title, row in check.rows(outcome) if hasattr(check, "rows") else ():
                    self._tables.setdefault(title, {})[name] = row
        except Exception:  # if anything fails here, the other scenarios are still checked
            problems.append("the results cannot be checked: " + traceback.format_exc())
        self._note(name, problems, late, seconds)

    def _note(self, name, problems, late, seconds):
        print("%s  %-40s %5.0f s%s" % ("FAIL" if problems else "PASS", name, seconds,
                                      "   machine paused for %.1f s" % late if late > STALL else ""), flush=True)
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
    """Returns a share of the names for each machine. All shares take about as long, and have the names in the given
    order."""
    shares = [[] for _ in range(max(1, min(machines, len(names))))]
    for name in sorted(names, key=lambda name: -seconds[name]):
        min(shares, key=lambda each: sum(seconds[other] for other in each)).append(name)
    return [sorted(each, key=names.index) for each in shares]


def excused(problems, late):
    """Whether a failure is not evidence: the machine was paused, and this can explain all problems."""
    return bool(problems) and late > STALL and not any(isinstance(each, ConclusiveProblem) for each in problems)


def summarize(tries):
    """Returns the summary and whether the complete run passed. `tries` has the attempts of each scenario: problems, and
    how late the machine was. Each scenario must pass at its last attempt, and only a few at their second."""
    failed = [name for name, each in tries.items() if not each or each[-1][0]]
    second = [name for name, each in tries.items() if len(each) > 1 and not each[-1][0]]
    too_many = len(second) > max(1, SECOND_TRIES * len(tries))
    lines = ["%d of %d scenarios passed%s" % (
        len(tries) - len(failed), len(tries),
        ", %d of them only at the second attempt" % len(second) if second else "")]
    lines += ["  FAIL  " + name for name in failed]
    for name in second:
        problems, late = tries[name][0]
        lines.append("  TWICE %s: the machine was paused for %.1f s at the first attempt, which failed with: %s" % (
            name, late, problems[0]))
    if too_many:
        lines.append("  FAIL  %d passed only at the second attempt: this machine is too busy for reliable results" % (
            len(second)))
    return "\n".join(lines), not failed and not too_many
