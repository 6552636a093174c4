"""What the gateway has to say, computed from what the controllers say that they sent.

A second, small writing of the monitor's rules (docs/monitor.md: E1, X2, L1 to L3, L5, L7, N4, P1, P3) for what
scenarios use of them: entering at the first sighting, whatever its RSSI. An adapter is a controller, by its address. It
does not know when the gateway noticed that an adapter went deaf, so it plays every possibility to its end: `implied` runs
the rules for the earliest and the latest moments, and what they agree on is demanded, each date between the earliest and
the latest that came out.
"""
import dataclasses
import itertools

from .outcome import Life

ALL = "all together"  # who holds a subject that no adapter has held yet
HORIZON = 1e12
END_SLACK = 0.5


class Ambiguous(Exception):
    """The script leaves open what should happen; it is the scenario that has to change."""


@dataclasses.dataclass(frozen=True)
class Expected:
    """An event that has to come, dated from `earliest` to `latest`, with one of `refinements`."""

    state: str
    earliest: float
    latest: float
    refinements: frozenset
    optional: bool = False  # so near the end that it may have come or not
    seen: tuple | None = None  # between which moments `lastSeen` lies
    visit: object = None  # the Stay that it ends


@dataclasses.dataclass(frozen=True)
class Stay:
    """A visit that ended: between which moments it began and was heard last, and between which numbers it counts."""

    arrival: tuple
    departure: tuple
    sightings: tuple


class Clock:
    """How long an adapter has listened."""

    def __init__(self):
        self.listening, self._sum, self._since, self.stopped = False, 0.0, 0.0, None

    def read(self, now):
        return self._sum + (now - self._since if self.listening else 0.0)

    def change(self, listening, now, since=None):
        """Starts or stops at `now`; a stop counts for L2 and L3 from `since`."""
        if listening != self.listening:
            self._sum, self._since, self.listening = self.read(now), now, listening
            self.stopped = None if listening else since


@dataclasses.dataclass(frozen=True)
class Said:
    """An event of one possibility. `seen`, `count`: at least and at most, for a kill forgets some; `count` of its visit."""

    state: str
    time: float
    refinement: tuple | None
    seen: tuple | None
    arrival: float | None
    count: tuple


class Subject:
    """A condition, or a beacon under one, and the events that it has had."""

    def __init__(self, is_beacon):
        self.is_beacon, self.state, self.events = is_beacon, "unsatisfied" if is_beacon else "unknown", []
        self.holds = {}  # adapter → its clock at the last refresh
        self._seen, self._arrival, self._count = None, None, (0, 0)

    def heard(self, time):
        """It was refreshed."""
        if self._arrival is None:
            self._arrival, self._count = time, (0, 0)
        self._seen = (time, time)
        self._count = tuple(each + 1 for each in self._count)

    def forget(self):
        """A kill: what was not written is known no more, but what the line of its entry says."""
        if self._arrival is not None:
            self._seen, self._count = (self._arrival, self._seen[1]), (1, self._count[1])

    def become(self, state, time, refinement=None):
        self.state = state
        self.events.append(Said(state, time, refinement, self._seen, self._arrival, self._count))
        if state == "unsatisfied":
            self._arrival = None
            if self.is_beacon:
                self._seen = None


class World:
    """The rules, for one set of conditions and settings."""

    def __init__(self, conditions, settings, start):
        self._conditions, self._settings, self.now = conditions, settings, start
        self._clocks, self._idle_until = {ALL: Clock()}, start  # before which nothing is due
        self._clocks[ALL].stopped = start
        self.subjects = {(each.identifier, None): Subject(False) for each in conditions}
        for subject in self.subjects.values():
            subject.holds = {ALL: 0.0}

    def listen(self, adapter, listening, time, since=None):
        """An adapter starts or stops listening."""
        self.advance(time)
        clock = self._clocks.setdefault(adapter, Clock())
        clock.change(listening, time, since)
        others = [each for name, each in self._clocks.items() if name != ALL]
        self._idle_until = self.now
        anybody = any(each.listening for each in others)
        self._clocks[ALL].change(anybody, time, max((each.stopped or 0.0 for each in others), default=time))

    def sighted(self, beacon, adapter, time):
        """A beacon is heard."""
        self.advance(time)
        for condition in self._conditions:
            if condition.matches(beacon):
                self._refresh(self.subjects[condition.identifier, None], beacon, adapter)
                if condition.per_beacon:
                    subject = self.subjects.setdefault((condition.identifier, beacon), Subject(True))
                    self._refresh(subject, beacon, adapter)

    def stop(self, time):
        """The process ends: nothing listens."""
        self.advance(time)
        for name in [name for name in self._clocks if name != ALL]:
            self.listen(name, False, time, time)

    def start(self, time, killed):
        """It is started again: who held holds on from when it listens, and its absence is no outage (N4)."""
        # Nothing became due meanwhile: nobody was there to see it.
        self.now = self._idle_until = time
        for clock in self._clocks.values():
            clock.stopped = time
        for subject in self.subjects.values():
            subject.holds = {name: self._clocks[name].read(time) for name in subject.holds}
            if killed:
                subject.forget()

    def _refresh(self, subject, beacon, adapter):
        outage = self._settings["outage_timeout"]
        subject.holds = {name: mark for name, mark in subject.holds.items() if name != ALL and not (
            self._clocks[name].stopped is not None and self._clocks[name].stopped + outage <= self.now)}
        subject.holds[adapter] = self._clocks.setdefault(adapter, Clock()).read(self.now)
        # A refresh only puts off what was due, but for one that makes it satisfied.
        self._idle_until = min(self._idle_until, self.now + self._settings["exit_timeout"])
        subject.heard(self.now)
        if subject.state != "satisfied":
            subject.become("satisfied", self.now, beacon)

    def advance(self, time):
        """Everything that becomes due up to `time`, then goes there."""
        while self._idle_until <= time:
            self._idle_until, act = self._next()
            if self._idle_until <= time:
                self.now = max(self.now, self._idle_until)
                act()
        self.now = max(self.now, time)

    def _next(self):
        """The next thing due: when, and what to do."""
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
                if self._clocks[name].listening:
                    left = exit_after - (self._clocks[name].read(self.now) - mark)
                    yield self.now + max(0.0, left), lambda name=name: self._run_out(subject, name)
        # L2: of what adapters held that are all away; of what nobody held when all are away
        if subject.state == "satisfied" and held and not any(clock.listening for clock in held):
            yield max(clock.stopped for clock in held) + outage, lambda: self._lose(subject)
        everybody = self._clocks[ALL]
        if subject.state == "unsatisfied" and not subject.is_beacon and not everybody.listening:
            yield everybody.stopped + outage, lambda: self._lose(subject)

    def _run_out(self, subject, name):
        del subject.holds[name]
        if not subject.holds:
            subject.become("unsatisfied", self.now)

    def _lose(self, subject):
        if subject.state == "unsatisfied":
            subject.holds = {ALL: 0.0}
        subject.holds = {name: self._clocks[name].read(self.now) for name in subject.holds}
        subject.become("unknown", self.now)


# How the gateway may have learnt of a stretch without reports, each early or late: that it begins, since when, that it ends.
CHOICES = list(itertools.product((0, 1), repeat=3))


@dataclasses.dataclass(frozen=True)
class Listening:
    """An adapter begins to listen, or stopped at `since`."""

    begins: bool
    since: float | None = None


def gaps(reports, ears, ending, longest):
    """Stretches without reports for longer than `longest`, of one adapter: (last, closed, opened, first).

    `last` and `first` are the reports around it, `closed` when the controller stopped hearing for the first time in
    it, and `opened` when it began to hear again for good; None where it went on hearing all the time.
    """
    times = [report.time for report in reports] + [ending]
    for last, first in zip(times, times[1:]):
        if first - last > longest:
            changes = [ear for ear in ears if last <= ear.time < first]
            closed = next((ear.time for ear in changes if not ear.hears), None)
            opened = next((ear.time for ear in reversed(changes) if ear.hears), None)
            yield last, closed, opened, first


def pauses(ears, longest):
    """Stretches of no more than that in which one adapter's controller did not hear: (closed, opened)."""
    for ear, following in zip(ears, ears[1:]):
        if not ear.hears and following.hears and following.time - ear.time <= longest:
            yield ear.time, following.time


def inputs(reports, ears, ending, deaf_after, choice, silence, canary=None):
    """What goes into a World, in order of time: (time, order, adapter, what), `what` a beacon, None or a Listening."""
    late_stop, late_since, late_start = choice
    found = []
    for adapter in {each.adapter for each in ears}:
        heard = [each for each in reports if each.adapter == adapter]
        mine = [each for each in ears if each.adapter == adapter]
        begin = next((each.time for each in mine if each.hears), ending)
        if heard and late_start:
            begin = max(begin, heard[0].time)
        found.append((begin, 0, adapter, Listening(True)))
        proof = [each for each in heard if canary is None or each.beacon == canary]
        stretches = list(gaps(proof, mine, ending, silence))
        # A scan that begins anew: whoever led it knows that it did not listen meanwhile, others never notice.
        for closed, opened in () if late_stop else pauses(mine, silence):
            if closed > begin and not any(last <= closed < first for last, _, _, first in stretches):
                found += [(closed, 0, adapter, Listening(False, closed)), (opened, 0, adapter, Listening(True))]
        for last, closed, opened, first in stretches:
            deaf = last + deaf_after
            stop = deaf if late_stop or closed is None else min(closed, deaf)
            if stop >= first:
                continue  # short enough not to be noticed
            # Without its canary what else it delivers is kept back.
            heard = [each for each in heard if canary is None or not stop < each.time < first]
            since = stop if late_since and closed is not None and stop == closed else last
            found.append((stop, 0, adapter, Listening(False, since)))
            # Nothing but a report proves that it hears again where it never ceased to.
            start = first if late_start or opened is None or canary is not None else max(opened, stop)
            if first < ending or (opened is not None and not late_start and canary is None):
                found.append((start, 0, adapter, Listening(True)))
        found += [(each.time, 1, adapter, each.beacon) for each in heard]
    return sorted(found, key=lambda each: each[:2])


def implied(conditions, settings, reports, ears, start, ending, silence=0.7, lives=None, canary=None):
    """What each subject has to have said: subject → list of Expected, up to `ending`.

    `silence`: how long an adapter that hears may be without a report; longer, and something is wrong with it. `lives`: from
    when to when the process ran, where it did not all the time. `canary`: the beacon that alone proves that an adapter hears.
    - Raises Ambiguous where the possibilities end in different states.
    """
    lives = lives or [Life(start, ending)]
    runs = [_run(conditions, settings, reports, ears, lives, choice, silence, canary) for choice in CHOICES]
    found = {subject: _agreed(subject, [run.get(subject, []) for run in runs], start, ending)
             for subject in sorted(set().union(*runs), key=str)}
    return {subject: expected for subject, expected in found.items() if expected}


def _agreed(subject, variants, start, ending):
    """The events of one subject that all variants have."""
    if len({tuple(said.state for said in each) for each in variants}) != 1:
        raise Ambiguous("%s of %s: %s" % (subject[0], subject[1], " or ".join(sorted({
            " ".join("%s@%.2f" % (said.state, said.time - start) for said in each) or "nothing"
            for each in variants}))))
    expected = []
    for each in zip(*variants, strict=True):
        times = [said.time for said in each]
        if min(times) < ending:
            expected.append(Expected(
                each[0].state, min(times), max(times), frozenset(said.refinement for said in each),
                optional=max(times) > ending - END_SLACK, seen=_between(said.seen for said in each),
                visit=None if each[0].state != "unsatisfied" or each[0].arrival is None else Stay(
                    _between((said.arrival, said.arrival) for said in each), _between(said.seen for said in each),
                    _between(said.count for said in each))))
    return expected


def _between(pairs):
    """The least and the greatest of pairs of such; None where there is none."""
    pairs = list(pairs)
    return None if None in pairs else (min(low for low, _ in pairs), max(high for _, high in pairs))


def _run(conditions, settings, reports, ears, lives, choice, silence, canary):
    world = World(conditions, settings, lives[0].begin)
    for number, life in enumerate(lives):
        if number:
            world.stop(lives[number - 1].end)
            world.start(life.begin, lives[number - 1].killed)
        heard = [[each for each in some if life.begin <= each.time < life.end] for some in (reports, ears)]
        for time, _, adapter, what in inputs(*heard, life.end, settings["deaf_after"], choice, silence, canary):
            if isinstance(what, Listening):
                if time < life.end:
                    world.listen(adapter, what.begins, time, what.since)
            elif what is not None:
                world.sighted(what, adapter, time)
    # Far enough that what is due near the end comes in every variant.
    world.advance(lives[-1].end + 10 * settings["outage_timeout"])
    return {key: subject.events for key, subject in world.subjects.items() if subject.events}
