"""Boots as often as it takes, judges each scenario as soon as it has ended, and prints what came of it."""
import json
import shutil
import sys
import time
import traceback

from . import machine
from .outcome import Outcome

# An advertisement that was this late says that the emulated machine stood still: what follows from that is no evidence.
STALL = 1.0


def say(text):
    print("lab: " + text, file=sys.stderr, flush=True)


class Session:
    """The scenarios of one call, and what came of them."""

    def __init__(self, scenarios, out, trace=False):
        """`trace`: the guest records all HCI and D-Bus traffic, too."""
        self._out, self._trace, self._scenarios = out, trace, {each.name: each for each in scenarios}
        self._waiting, self._failed, self._tables = list(self._scenarios), {}, {}

    def run(self, kernel, binary):
        """Runs and judges all; those that failed while the machine stood still once more. Whether all passed."""
        self._boot_all(kernel, binary)
        stalled = [name for name, late in self._failed.items() if late > STALL]
        if stalled:
            say("the machine stood still in %s: once more" % ", ".join(stalled))
            for name in stalled:
                del self._failed[name]
            self._waiting = stalled
            self._boot_all(kernel, binary)
        return self._finish()

    def judge(self):
        """Judges what is in the folder already. Whether all passed."""
        for name in self._scenarios:
            self._judge(name, 0)
        return self._finish()

    def _boot_all(self, kernel, binary):
        while self._waiting:
            before, self._running = len(self._waiting), None
            try:
                self._boot(kernel, binary)
            except machine.MachineError as problem:
                if self._running is None:
                    raise
                self._note(self._running, [str(problem)], 0, 0)
            if len(self._waiting) == before:
                raise machine.MachineError("the virtual machine ran nothing; see %s" % self._out)

    def _boot(self, kernel, binary):
        chosen = [self._scenarios[name] for name in self._waiting]
        plan = {"binary": str(binary), "trace": self._trace, "scenarios": [each.plan() for each in chosen]}
        for each in chosen:
            shutil.rmtree(self._out / each.name, ignore_errors=True)  # of an earlier run
        (self._out / "plan.json").write_text(json.dumps(plan, indent=1))
        say("booting, for %d scenarios; everything is left in %s" % (len(chosen), self._out))
        began = time.monotonic()
        # Several times what they take where the host has nothing else to do.
        for line in machine.boot(kernel, self._out, 180 + sum(90 + 3 * each.seconds for each in chosen)):
            word, _, name = line.partition(" ")
            if word == "begin" and name in self._waiting:
                began, self._running = time.monotonic(), name
            elif word == "end" and name == self._running:
                self._judge(name, time.monotonic() - began)
                self._running = None
            else:
                print("guest: " + line, file=sys.stderr, flush=True)

    def _judge(self, name, seconds):
        problems, late = [], 0
        try:
            if not (self._out / name / "report.json").exists():
                raise FileNotFoundError("%s was not run, or not to its end" % (self._out / name))
            outcome = Outcome(self._scenarios[name], self._out / name)
            late = outcome.late()
            for check in self._scenarios[name].checks:
                problems += check.problems(outcome)
                for title, row in check.rows(outcome) if hasattr(check, "rows") else ():
                    self._tables.setdefault(title, {})[name] = row
        except Exception:  # whatever is wrong with it, the others are judged
            problems.append("what it left can't be judged: " + traceback.format_exc())
        self._note(name, problems, late, seconds)

    def _note(self, name, problems, late, seconds):
        if name in self._waiting:
            self._waiting.remove(name)
        print("%s  %-40s %5.0f s%s" % ("FAIL" if problems else "PASS", name, seconds,
                                      "   the machine stood still for %.1f s" % late if late > STALL else ""), flush=True)
        if problems:
            self._failed[name] = late
        for problem in problems:
            print("        " + problem.replace("\n", "\n        "), flush=True)

    def _finish(self):
        for title, rows in self._tables.items():
            header = list(next(iter(rows.values())))
            print("\n%s\n\n| %s |\n|%s" % (title, " | ".join(header), "---|" * len(header)))
            for row in rows.values():
                print("| %s |" % " | ".join(str(value) for value in row.values()))
        print("\n%d of %d scenarios passed%s" % (len(self._scenarios) - len(self._failed), len(self._scenarios),
                                                "".join("\n  FAIL  " + name for name in self._failed)))
        return not self._failed
