"""What the gateway could hear, and what it may claim of that: its own `adapter` lines are held against the controllers'
logs, so that nothing is excused by a claim that nothing bears out."""
import bisect
import collections

from .implied import HORIZON
from .outcome import Ear

# How long a controller may report before the gateway says that it listens; it takes a tenth of a second.
LISTENS_WITHIN = 1.0
LISTENS_WITHIN_DBUS = 2.0
# How much longer than `deaf_after` nothing may be heard before the gateway says that it does not listen.
DEAF_WITHIN = 1.0
# How late the gateway may learn what a controller's log says, by way of an emulated kernel.
LEARNS_WITHIN = 1.0
# By way of bluetoothd and the bus, and how long after an action an adapter may be said to have stopped there.
LEARNS_WITHIN_DBUS = 3.0
# How long the kernel's discovery scans without a pause.
DISCOVERY = 10.5
# What happens to the radio without a trace in the controllers' logs, where bluetoothd stands between.
UNSEEN = {"bluetoothd", "power", "rfkill", "discovery", "controller"}


class Hearing:
    """What one telling rests on: `ears` and `reports` that count, and `problems`, for which the gateway is to blame.

    A report counts only where the gateway said that it listens: the kernel may begin to scan a moment before a scanner
    can be sure of it. That moment is short; where it is not, that is a problem. What an earlier scan let through does not
    count for it: where the controller began to hear anew in that moment, only what came since does.

    A report may itself be what the gateway becomes sure by. Of the first that a process says that it listens nothing
    outside tells whether it was one: `by_report` takes it that the first in that moment was.
    """

    def __init__(self, outcome, telling, lives, tolerance, by_report=False):
        self._outcome, self._lives, self._tolerance, self._by_report = outcome, lives, tolerance, by_report
        self._dbus = outcome.scenario.backend == "dbus"
        self._settings = outcome.scenario.all_settings()
        self.claims = collections.defaultdict(list)
        for claim in outcome.claims(telling):
            self.claims[claim.adapter].append(claim)
        self._ears, self._times = collections.defaultdict(list), collections.defaultdict(list)
        for ear in outcome.ears:
            self._ears[ear.adapter].append(ear)
        # With a canary nothing else proves that an adapter hears, once it has been heard.
        canary = self._canary = outcome.scenario.canary_beacon()
        for report in outcome.reports:
            if canary is None or report.beacon == canary:
                self._times[report.adapter].append(report.time)
        self.ears, self.reports = [], []
        self.problems = [problem for problem in self._unfounded()]
        for life in lives:
            self._live(life)
        self.ears.sort(key=lambda ear: ear.time)
        self.problems += self._unsaid()

    def _at(self, time):
        return time - self._outcome.zero

    # One life

    def _live(self, life):
        """Ears and reports of one process, from when it listens for the first time."""
        blind = list(self._blind_stretches())
        claims = {adapter: [claim for claim in each if life.begin <= claim.time < life.end + self._tolerance]
                  for adapter, each in self.claims.items()}
        first = {adapter: min(claim.time for claim in each if claim.listens) for adapter, each in claims.items()
                 if any(claim.listens for claim in each)}
        for report in self._outcome.reports if self._by_report else ():
            if life.begin <= report.time < first.get(report.adapter, 0) and self._counts(report, claims[report.adapter]):
                first[report.adapter] = report.time
        ears = [Ear(time, adapter, True) for adapter, time in first.items()]
        ears += [each for each in self._outcome.ears if first.get(each.adapter, HORIZON) < each.time < life.end]
        for begin, end in blind:
            ears = [each for each in ears if not begin <= each.time < end]
            ears += [Ear(time, adapter, hears) for adapter in first for time, hears in ((begin, False), (end, True))]
        missed = collections.defaultdict(list)
        for report in self._outcome.reports:
            if not life.begin <= report.time < life.end or any(begin <= report.time < end for begin, end in blind):
                continue
            if first.get(report.adapter, HORIZON) <= report.time and self._counts(report, claims[report.adapter]):
                self.reports.append(report)
            elif self._canary is None or report.beacon == self._canary:
                missed[report.adapter].append(report.time)
        self.ears += ears
        self.problems += self._too_long(missed)

    def _counts(self, report, claims):
        """Whether the gateway said that it listens when this came, or a moment later and the same scan let it through."""
        before = [claim.listens for claim in claims if claim.time <= report.time]
        if before and before[-1]:
            return True
        return any(claim.listens and report.time < claim.time <= report.time + self._tolerance and not any(
            ear.hears and report.time < ear.time <= claim.time for ear in self._ears[report.adapter]) for claim in claims)

    def _blind_stretches(self):
        """From when reports did not reach the gateway, as the scenario says, to when it said that it listens again.

        Where a new scan led to that, to its beginning: what says that it listens may be that scan's first report.
        """
        outcome = self._outcome
        starts = [claim.time for claims in self.claims.values() for claim in claims if claim.listens]
        for begin, end in outcome.scenario.blind:
            begin = next(each["began"] for each in outcome.report["actions"] if each["at"] == begin)
            ends, end = next((each["began"], each["ended"]) for each in outcome.report["actions"] if each["at"] == end)
            # Who is quick listens before that is over: a bluetoothd counts as started only a while after it can be talked to.
            listens = min((time for time in starts if time > ends), default=end)
            yield begin, max((ear.time for ear in outcome.ears if ear.hears and ends < ear.time <= listens),
                             default=listens)

    def _too_long(self, missed):
        """Stretches of reports that came while the gateway said that it does not listen, and went on for too long."""
        for adapter, times in missed.items():
            begin = times[0]
            for time, following in zip(times, [*times[1:], HORIZON]):
                if following - time > 1:
                    # Where a process begins it has its own start to do first.
                    if time - begin > self._listens_within(begin):
                        yield "%s reported from %.2f to %.2f, and the gateway did not listen" % (
                            adapter, self._at(begin), self._at(time))
                    begin = following

    def _listens_within(self, begin):
        """How long it may take to say that it listens: longer while a process starts."""
        # A command that a hanging controller did not answer the kernel gives up after two seconds (HCI_CMD_TIMEOUT).
        hung = any(action.get("say", {}).get("do") == "unhang" and 0 <= begin - action["began"] < LISTENS_WITHIN
                   for action in self._outcome.report["actions"])
        within = LISTENS_WITHIN_DBUS if self._dbus or hung else LISTENS_WITHIN
        # A monitor that is added while somebody else discovers waits for the end of that scan, 10.24 s at most.
        discovers = [action["on"] for action in self._outcome.report["actions"]
                     if action["do"] == "discovery" and action["began"] <= begin]
        waits = DISCOVERY if discovers and discovers[-1] else 0
        started = any(life.begin <= begin < life.begin + 2 * within for life in self._lives)
        return within * (2 if started else 1) + waits

    # Claims

    def _unfounded(self):
        """Stops that the gateway claims and that nothing bears out."""
        for adapter, claims in self.claims.items():
            for before, claim in zip([None, *claims], claims):
                if claim.listens or before is None or not before.listens:
                    continue
                if before is claims[0] and claim.time - before.time < 0.001:
                    continue  # a capture's first record is one of its adapter, which then says that it does not listen (L4)
                if not self._founded(claim):
                    yield "it said that %s stopped at %.2f, and nothing says so" % (adapter, self._at(claim.time))
                elif claim.since > claim.time + 1e-6:
                    yield "it said at %.2f that %s had stopped later" % (self._at(claim.time), adapter)

    def _founded(self, claim):
        late = LEARNS_WITHIN_DBUS if self._dbus else LEARNS_WITHIN
        # Its controller ceased to hear, a moment ago or somewhere in the silence that it was told by.
        closed = any(not ear.hears and claim.since - late <= ear.time <= claim.time + self._tolerance
                     for ear in self._ears[claim.adapter])
        if closed or not self._ears[claim.adapter] or not self._hears(claim.adapter, claim.time):
            return True
        # Or it hears, and there was nothing to hear.
        times = self._times[claim.adapter]
        place = bisect.bisect_right(times, claim.time)
        if not place or claim.time - times[place - 1] >= min(self._settings["deaf_after"] / 2, 1) - self._tolerance:
            return True
        return self._dbus and any(
            action["do"] in UNSEEN and action["began"] - self._tolerance <= claim.time <= action["ended"] + late
            for action in self._outcome.report["actions"])

    def _hears(self, adapter, time):
        """Whether a controller could hear at a moment."""
        heard = [ear.hears for ear in self._ears[adapter] if ear.time <= time]
        return bool(heard) and heard[-1]

    def _unsaid(self):
        """Silences that the gateway did not tell of: nothing came for longer than `deaf_after`, and it went on listening."""
        deaf = self._settings["deaf_after"] + DEAF_WITHIN + (LEARNS_WITHIN_DBUS if self._dbus else 0)
        for adapter, claims in self.claims.items():
            times = [time for time in self._times[adapter]] + [self._outcome.ending]
            for last, first in zip(times, times[1:]):
                end = min([first, *(life.end for life in self._lives if life.end > last)])
                if end - last <= deaf or self._frozen(last, end):
                    continue
                before = [claim.listens for claim in claims if claim.time <= last + deaf]
                if before and before[-1] and any(life.begin <= last < life.end for life in self._lives):
                    yield "%s reported nothing from %.2f to %.2f, and the gateway went on listening" % (
                        adapter, self._at(last), self._at(end))

    def _frozen(self, begin, end):
        """Whether the process was stopped, or told of nothing else, somewhere in a stretch."""
        return any(action["do"] == "gateway" and begin <= action["began"] <= end for action in self._outcome.report["actions"])
