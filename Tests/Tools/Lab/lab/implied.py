"""Computes the lines that the gateway must write from the controllers' logs of sent reports.

This is a second, small implementation of the monitor's rules (docs/monitor.md: E1, X2, L1 to L3, L5, L7, N4, P1,
P3), as far as scenarios need them: a subject enters at the first sighting, whatever its RSSI is. An adapter is a
controller, identified by its address. It is not known when the gateway noticed that an adapter stopped receiving, so
every possibility is computed. `implied` applies the rules for the earliest and the latest times, and requires
everything that the results have in common. Each date must be between the earliest and the latest result.
"""
import dataclasses
import itertools

from .outcome import Life

ALL = "all together"  # the holder of a shared hold: all adapters together
HORIZON = 1e12
END_SLACK = 0.5


class Ambiguous(Exception):
    """Raised if the script does not determine which events must occur. Then the scenario must be changed."""


@dataclasses.dataclass(frozen=True)
class Expected:
    """A required event, dated from `earliest` to `latest`, with one of `refinements`."""

    state: str
    earliest: float
    latest: float
    refinements: frozenset
    optional: bool = False  # so close to the end that it may be missing
    seen: tuple | None = None  # the earliest and the latest `lastSeen`; None: absent
    visit: object = None  # the ExpectedVisit that the event ends


@dataclasses.dataclass(frozen=True)
class ExpectedVisit:
    """A visit that ended. Each field is a pair of the lowest and the highest possible time or number."""

    arrival: tuple
    departure: tuple
    sightings: tuple


class ScanClock:
    """The total time for which an adapter has scanned."""

    def __init__(self):
        self.scanning, self._sum, self._since, self.stopped = False, 0.0, 0.0, None

    def read(self, now):
        return self._sum + (now - self._since if self.scanning else 0.0)

    def change(self, scanning, now, since=None):
        """Starts or stops the clock at `now`. For L2 and L3, a stop counts from `since`."""
        if scanning != self.scanning:
            self._sum, self._since, self.scanning = self.read(now), now, scanning
            self.stopped = None if scanning else since


@dataclasses.dataclass(frozen=True)
class PossibleEvent:
    """An event of one possibility. `seen` (`lastSeen`) and `count` (of its visit) are pairs of minimum and maximum,
    because a killed process can lose the last sightings."""

    state: str
    time: float
    refinement: tuple | None
    seen: tuple | None
    arrival: float | None
    count: tuple


class Subject:
    """A condition, or a beacon under a condition, with its events."""

    def __init__(self, is_beacon):
        self.is_beacon, self.state, self.events = is_beacon, "unsatisfied" if is_beacon else "unknown", []
        self.holds = {}  # adapter → reading of its clock at the last refresh
        self._seen, self._arrival, self._count = None, None, (0, 0)

    def refresh(self, time):
        """Counts a refresh at `time`."""
        if self._arrival is None:
            self._arrival, self._count = time, (0, 0)
        self._seen = (time, time)
        self._count = tuple(each + 1 for each in self._count)

    def handle_kill(self):
        """Handles a kill: later sightings may not be written, so the new process may know only those in the line of the
        entry."""
        if self._arrival is not None:
            self._seen, self._count = (self._arrival, self._seen[1]), (1, self._count[1])

    def become(self, state, time, refinement=None):
        self.state = state
        self.events.append(PossibleEvent(state, time, refinement, self._seen, self._arrival, self._count))
        if state == "unsatisfied":
            self._arrival = None
            if self.is_beacon:
                self._seen = None


class RuleModel:
    """The rules, applied to one possibility with one set of conditions and settings."""

    def __init__(self, conditions, settings, start):
        self._conditions, self._settings, self.now = conditions, settings, start
        self._clocks, self._idle_until = {ALL: ScanClock()}, start  # nothing is due before this time
        self._clocks[ALL].stopped = start
        self.subjects = {(each.identifier, None): Subject(False) for each in conditions}
        for subject in self.subjects.values():
            subject.holds = {ALL: 0.0}

    def set_scanning(self, adapter, scanning, time, since=None):
        """An adapter starts or stops scanning at `time`."""
        self.advance(time)
        clock = self._clocks.setdefault(adapter, ScanClock())
        clock.change(scanning, time, since)
        others = [each for name, each in self._clocks.items() if name != ALL]
        self._idle_until = self.now
        any_scans = any(each.scanning for each in others)
        self._clocks[ALL].change(any_scans, time, max((each.stopped or 0.0 for each in others), default=time))

    def sighted(self, beacon, adapter, time):
        """An adapter receives a beacon at `time`."""
        self.advance(time)
        for condition in self._conditions:
            if condition.matches(beacon):
                self._refresh(self.subjects[condition.identifier, None], beacon, adapter)
                if condition.per_beacon:
                    subject = self.subjects.setdefault((condition.identifier, beacon), Subject(True))
                    self._refresh(subject, beacon, adapter)

    def stop(self, time):
        """The process ends at `time`: no adapter scans."""
        self.advance(time)
        for name in [name for name in self._clocks if name != ALL]:
            self.set_scanning(name, False, time, time)

    def start(self, time, killed):
        """The process starts again at `time`. Each hold starts when its adapter scans, and the time without the process
        is not an outage (N4)."""
        # Nothing became due in the meantime, because no process was running.
        self.now = self._idle_until = time
        for clock in self._clocks.values():
            clock.stopped = time
        for subject in self.subjects.values():
            subject.holds = {name: self._clocks[name].read(time) for name in subject.holds}
            if killed:
                subject.handle_kill()

    def _refresh(self, subject, beacon, adapter):
        outage = self._settings["outage_timeout"]
        subject.holds = {name: mark for name, mark in subject.holds.items() if name != ALL and not (
            self._clocks[name].stopped is not None and self._clocks[name].stopped + outage <= self.now)}
        subject.holds[adapter] = self._clocks.setdefault(adapter, ScanClock()).read(self.now)
        # A refresh of a satisfied subject only postpones its deadlines. If it makes the subject satisfied, the first
        # new deadline is `exit_timeout` later.
        self._idle_until = min(self._idle_until, self.now + self._settings["exit_timeout"])
        subject.refresh(self.now)
        if subject.state != "satisfied":
            subject.become("satisfied", self.now, beacon)

    def advance(self, time):
        """Handles everything that is due up to `time`, and then sets the present to `time`. The present never goes
        back."""
        while self._idle_until <= time:
            self._idle_until, act = self._next()
            if self._idle_until <= time:
                self.now = max(self.now, self._idle_until)
                act()
        self.now = max(self.now, time)

    def _next(self):
        """Returns the next deadline and the function that handles it."""
        due = (HORIZON, lambda: None)
        for subject in self.subjects.values():
            for found in self._deadlines(subject):
                due = min(due, found, key=lambda each: each[0])
        return due

    def _deadlines(self, subject):
        exit_after, outage = self._settings["exit_timeout"], self._settings["outage_timeout"]
        held = [self._clocks[name] for name in subject.holds]
        if subject.state in ("satisfied", "unknown"):
            for name, mark in subject.holds.items():
                if self._clocks[name].scanning:
                    left = exit_after - (self._clocks[name].read(self.now) - mark)
                    yield self.now + max(0.0, left), lambda name=name: self._expire_hold(subject, name)
        # L2: a satisfied subject if none of its holders scans; an unsatisfied subject if no adapter scans.
        if subject.state == "satisfied" and held and not any(clock.scanning for clock in held):
            yield max(clock.stopped for clock in held) + outage, lambda: self._become_unknown(subject)
        all_adapters = self._clocks[ALL]
        if subject.state == "unsatisfied" and not subject.is_beacon and not all_adapters.scanning:
            yield all_adapters.stopped + outage, lambda: self._become_unknown(subject)

    def _expire_hold(self, subject, name):
        del subject.holds[name]
        if not subject.holds:
            subject.become("unsatisfied", self.now)

    def _become_unknown(self, subject):
        if subject.state == "unsatisfied":
            subject.holds = {ALL: 0.0}
        subject.holds = {name: self._clocks[name].read(self.now) for name in subject.holds}
        subject.become("unknown", self.now)


# How the gateway may have noticed a stretch without reports. Each of three times is early (0) or late (1): its start,
# the `since` of the stop, and its end.
CHOICES = list(itertools.product((0, 1), repeat=3))


@dataclasses.dataclass(frozen=True)
class ScanChange:
    """An adapter starts to scan (`begins`), or has not scanned since `since`."""

    begins: bool
    since: float | None = None


def silences(reports, reception, ending, longest):
    """Yields the stretches without reports of one adapter that are longer than `longest`: (last, closed, opened,
    first).

    `last` and `first` are the times of the reports before and after the stretch. After the last report, `first` is
    `ending`. `closed` is the time in the stretch when the controller first stopped receiving, and `opened` when it
    last started to receive. They are None if this did not happen.
    """
    times = [report.time for report in reports] + [ending]
    for last, first in zip(times, times[1:]):
        if first - last > longest:
            changes = [change for change in reception if last <= change.time < first]
            closed = next((change.time for change in changes if not change.receives), None)
            opened = next((change.time for change in reversed(changes) if change.receives), None)
            yield last, closed, opened, first


def pauses(reception, longest):
    """Yields the stretches of at most `longest` in which one adapter's controller did not receive: (closed, opened)."""
    for change, following in zip(reception, reception[1:]):
        if not change.receives and following.receives and following.time - change.time <= longest:
            yield change.time, following.time


def inputs(reports, reception, ending, deaf_after, choice, silence, canary=None):
    """Returns the inputs of a RuleModel in the order of time: (time, order, adapter, content). `content` is a beacon,
    None for another report, or a ScanChange. `choice` is one of CHOICES."""
    late_stop, late_since, late_start = choice
    found = []
    for adapter in {each.adapter for each in reception}:
        received = [each for each in reports if each.adapter == adapter]
        mine = [each for each in reception if each.adapter == adapter]
        begin = next((each.time for each in mine if each.receives), ending)
        if received and late_start:
            begin = max(begin, received[0].time)
        found.append((begin, 0, adapter, ScanChange(True)))
        proof = [each for each in received if canary is None or each.beacon == canary]
        stretches = list(silences(proof, mine, ending, silence))
        # A restarted scan: the backend that controls it knows that it did not scan in between; other backends do not
        # notice it.
        for closed, opened in () if late_stop else pauses(mine, silence):
            if closed > begin and not any(last <= closed < first for last, _, _, first in stretches):
                found += [(closed, 0, adapter, ScanChange(False, closed)), (opened, 0, adapter, ScanChange(True))]
        for last, closed, opened, first in stretches:
            limit = last + deaf_after
            stop = limit if late_stop or closed is None else min(closed, limit)
            if stop >= first:
                continue  # too short to be noticed
            # While the canary is silent, the adapter's other reports do not count.
            received = [each for each in received if canary is None or not stop < each.time < first]
            since = stop if late_since and closed is not None and stop == closed else last
            found.append((stop, 0, adapter, ScanChange(False, since)))
            # If the controller never stopped receiving, or if there is a canary, only a report proves that the adapter
            # scans.
            start = first if late_start or opened is None or canary is not None else max(opened, stop)
            if first < ending or (opened is not None and not late_start and canary is None):
                found.append((start, 0, adapter, ScanChange(True)))
        found += [(each.time, 1, adapter, each.beacon) for each in received]
    return sorted(found, key=lambda each: each[:2])


def implied(conditions, settings, reports, reception, start, ending, silence=0.7, lives=None, canary=None):
    """Returns the required events up to `ending`: subject → list of Expected.

    `silence`: the seconds for which an adapter that receives can be without a report; a longer silence is a fault.
    `lives`: the periods in which the process ran, if it did not run all the time. `canary`: the beacon that alone
    proves that an adapter receives.
    - Raises Ambiguous if the possibilities have different states.
    """
    lives = lives or [Life(start, ending)]
    runs = [_run(conditions, settings, reports, reception, lives, choice, silence, canary) for choice in CHOICES]
    found = {subject: _agreed(subject, [run.get(subject, []) for run in runs], start, ending)
             for subject in sorted(set().union(*runs), key=str)}
    return {subject: expected for subject, expected in found.items() if expected}


def _agreed(subject, variants, start, ending):
    """Returns the events of one subject that all possibilities have in common."""
    if len({tuple(event.state for event in each) for each in variants}) != 1:
        raise Ambiguous("%s of %s: %s" % (subject[0], subject[1], " or ".join(sorted({
            " ".join("%s@%.2f" % (event.state, event.time - start) for event in each) or "nothing"
            for each in variants}))))
    expected = []
    for each in zip(*variants, strict=True):
        times = [event.time for event in each]
        if min(times) < ending:
            expected.append(Expected(
                each[0].state, min(times), max(times), frozenset(event.refinement for event in each),
                optional=max(times) > ending - END_SLACK, seen=_between(event.seen for event in each),
                visit=None if each[0].state != "unsatisfied" or each[0].arrival is None else ExpectedVisit(
                    _between((event.arrival, event.arrival) for event in each), _between(event.seen for event in each),
                    _between(event.count for event in each))))
    return expected


def _between(pairs):
    """Returns the lowest and the highest number of all pairs; None if one of them is None."""
    pairs = list(pairs)
    return None if None in pairs else (min(low for low, _ in pairs), max(high for _, high in pairs))


def _run(conditions, settings, reports, reception, lives, choice, silence, canary):
    model = RuleModel(conditions, settings, lives[0].begin)
    for number, life in enumerate(lives):
        if number:
            model.stop(lives[number - 1].end)
            model.start(life.begin, lives[number - 1].killed)
        of_life = [[each for each in some if life.begin <= each.time < life.end] for some in (reports, reception)]
        for time, _, adapter, content in inputs(*of_life, life.end, settings["deaf_after"], choice, silence, canary):
            if isinstance(content, ScanChange):
                if time < life.end:
                    model.set_scanning(adapter, content.begins, time, content.since)
            elif content is not None:
                model.sighted(content, adapter, time)
    # Late enough that every event that is due near the end occurs in every possibility.
    model.advance(lives[-1].end + 10 * settings["outage_timeout"])
    return {key: subject.events for key, subject in model.subjects.items() if subject.events}
