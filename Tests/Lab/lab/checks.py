"""What is demanded of a scenario's outcome. Each check returns the problems that it found, in words."""
import collections
import dataclasses

from .implied import HORIZON, Ambiguous, implied
from .outcome import Ear, events_of, group, payloads

# How far an event may be from the moment that the controllers' logs say: the emulated machine is slow.
TOLERANCE = 0.25
# How late by way of bluetoothd and the bus, which take their time and carry none.
TOLERANCE_DBUS = 0.5
# How long a controller may report before the gateway is sure that it listens.
LISTENS_WITHIN = 2.0
# How soon an adapter has to listen again once the radio is back.
BACK_WITHIN = 10.0


def name(subject):
    """A subject, for people: staff, staff 100/7."""
    identifier, beacon = subject
    return identifier if beacon is None else "%s %d/%d" % (identifier, beacon[1], beacon[2])


def listening_lines(outcome):
    """What the gateway said of its adapters: adapter → (time, whether it listens), in order."""
    found = collections.defaultdict(list)
    for line in outcome.lines:
        if line["type"] == "adapter":
            found[line["adapter"]].append((line["monotonic"] / 1e6, line["state"] == "listening"))
    return found


def blind_stretches(outcome):
    """From when reports did not reach the gateway, as the scenario says, to when it said that it listens again.

    Where a new scan led to that, to its beginning: what says that it listens may be that scan's first report.
    """
    starts = [time for lines in listening_lines(outcome).values() for time, listens in lines if listens]
    for begin, end in outcome.scenario.blind:
        begin = next(each["began"] for each in outcome.report["actions"] if each["at"] == begin)
        ends, end = next((each["began"], each["ended"]) for each in outcome.report["actions"] if each["at"] == end)
        # Who is quick listens before that is over: a bluetoothd counts as started only a while after it can be talked to.
        listens = min((time for time in starts if time > ends), default=end)
        yield begin, max((ear.time for ear in outcome.ears if ear.hears and ends < ear.time <= listens), default=listens)


def heard(outcome, tolerance):
    """What the gateway could hear: ears, reports, and what it has to be blamed for.

    A report counts only where the gateway said that it listens: the kernel may begin to scan a moment before a scanner
    can be sure of it. That moment is short; where it is not, that is a problem. What an earlier scan let through does not
    count for it: where the controller began to hear anew in that moment, only what came since does.
    """
    lines, blind = listening_lines(outcome), list(blind_stretches(outcome))
    first = {adapter: min(time for time, listens in each if listens) for adapter, each in lines.items()
             if any(listens for _, listens in each)}
    ears = [Ear(time, adapter, True) for adapter, time in first.items()]
    ears += [each for each in outcome.ears if each.time > first.get(each.adapter, each.time)]
    for begin, end in blind:
        ears = [each for each in ears if not begin <= each.time < end]
        ears += [Ear(time, adapter, hears) for adapter in first for time, hears in ((begin, False), (end, True))]
    reports, missed, begins = [], collections.defaultdict(list), collections.defaultdict(list)
    for ear in outcome.ears:
        if ear.hears:
            begins[ear.adapter].append(ear.time)
    for report in outcome.reports:
        if report.time < first.get(report.adapter, report.time + 1):
            continue  # before the gateway's beginning
        before = [listens for time, listens in lines[report.adapter] if time <= report.time]
        soon = [listens for time, listens in lines[report.adapter] if report.time < time <= report.time + tolerance
                and not any(report.time < begin <= time for begin in begins[report.adapter])]
        if any(begin <= report.time < end for begin, end in blind):
            continue
        if before[-1] or any(soon):
            reports.append(report)
        else:
            missed[report.adapter].append(report.time)
    return sorted(ears, key=lambda ear: ear.time), reports, list(_too_long(missed, outcome.zero))


def _too_long(missed, zero):
    """Stretches of reports that came while the gateway said that it does not listen, and went on for too long."""
    for adapter, times in missed.items():
        begin = times[0]
        for time, following in zip(times, [*times[1:], HORIZON]):
            if following - time > 1:
                if time - begin > LISTENS_WITHIN:
                    yield "%s reported from %.2f to %.2f, and the gateway did not listen" % (adapter, begin - zero, time - zero)
                begin = following


class Implied:
    """Each subject has had the events that the reports imply, no more and no fewer, at the moments that they imply."""

    def problems(self, outcome):
        scenario = outcome.scenario
        self._late = TOLERANCE_DBUS if scenario.backend == "dbus" else TOLERANCE
        ears, reports, found = heard(outcome, self._late)
        try:
            expected = implied(scenario.conditions, scenario.all_settings(), reports, ears, outcome.report["started"],
                               outcome.ending)
        except Ambiguous as problem:
            return ["the script leaves it open: %s" % problem]
        actual = group(outcome.events)
        for subject in sorted(set(expected) | set(actual), key=str):
            found += self._compare(outcome, subject, expected.get(subject, []), actual.get(subject, []))
        return found

    def _compare(self, outcome, subject, expected, actual):
        """One subject's events against what was expected of it."""
        for number, event in enumerate(actual):
            at = "%s: %s at %.2f" % (name(subject), event.state, event.time - outcome.zero)
            if number >= len(expected):
                return [at + " is not implied"]
            due = expected[number]
            if event.state != due.state:
                return ["%s, expected %s at %.2f" % (at, due.state, due.earliest - outcome.zero)]
            if not due.earliest - TOLERANCE <= event.time <= due.latest + self._late:
                return ["%s, expected from %.2f to %.2f" % (at, due.earliest - outcome.zero, due.latest - outcome.zero)]
            refinements = due.refinements if subject[1] is None else {subject[1]}
            if event.refinement not in refinements:
                return ["%s is refined by %s" % (at, event.refinement)]
        return ["%s: no %s at %.2f" % (name(subject), due.state, due.earliest - outcome.zero)
                for due in expected[len(actual):] if not due.optional][:1]


@dataclasses.dataclass
class States:
    """The named subjects went through these states and no others, and nobody else has any event; said by hand, so that what
    is implied can't be wrong unnoticed. A subject is an identifier, or an identifier with "major/minor"."""

    states: dict
    others: bool = False  # whether others may have events

    def problems(self, outcome):
        actual = {name(subject): " ".join(event.state for event in events)
                  for subject, events in group(outcome.events).items()}
        wrong = ["%s: %s; expected %s" % (key, actual.get(key, "no events") or "no events", value or "none")
                 for key, value in self.states.items() if actual.get(key, "") != value]
        if not self.others:
            wrong += ["%s: %s; nothing was expected of it" % pair for pair in actual.items() if pair[0] not in self.states]
        return wrong


@dataclasses.dataclass
class Timing:
    """Whoever scanned had the controllers listen `window` of each `interval`, in units of 625 µs, and each event says that
    reports are thinned out where that is not all of the time."""

    interval: int
    window: int

    def problems(self, outcome):
        scans = [(each["interval"], each["window"]) for each in outcome.asked("scan parameters")]
        wrong = ["the host asked for a scan of %d in %d units" % (window, interval)
                 for interval, window in scans if (interval, window) != (self.interval, self.window)]
        thinned = [("accuracyLimited" in line["diagnostics"]) for line in outcome.lines if line["type"] == "event"]
        if set(thinned) != {self.window < self.interval}:
            wrong.append("accuracyLimited on %d of %d events" % (sum(thinned), len(thinned)))
        return wrong[:3] if scans else ["nobody scanned"]


@dataclasses.dataclass
class Complete:
    """The visits of those who left count as many sightings as the controllers sent, at least `share` of them."""

    share: float = 1.0

    def problems(self, outcome):
        counted, sent = {}, {}
        for visit in outcome.visits:
            if visit.beacon:
                counted[visit.beacon] = counted.get(visit.beacon, 0) + visit.sightings
        for report in outcome.reports:
            if report.beacon in counted:
                sent[report.beacon] = sent.get(report.beacon, 0) + 1
        wrong = ["%d/%d: %d sightings of %d sent" % (*beacon[1:], counted[beacon], number)
                 for beacon, number in sent.items() if not number * self.share <= counted[beacon] <= number]
        return wrong or ([] if counted else ["nobody's visit ended"])


@dataclasses.dataclass
class Clean:
    """The gateway ended well, its lines are without a gap, and it left no controller scanning."""

    left_scanning: bool = False  # somebody else scans, so this can't be seen

    def problems(self, outcome):
        found = list(outcome.report["problems"])
        if outcome.report.get("status") != 0:
            found.append("the gateway ended with %s" % outcome.report.get("status"))
        numbers = [line["sequence"] for line in outcome.lines if "sequence" in line]
        if numbers != list(range(1, len(numbers) + 1)):
            found.append("the lines' sequence has a gap or a repetition")
        if not self.left_scanning and any(each["hears"] for each in outcome.report.get("controllers", [])):
            found.append("a controller was left scanning")
        return found


@dataclasses.dataclass
class Unprivileged:
    """At the sample of this name no capability was left (proc(5): CapInh, CapPrm, CapEff, CapAmb)."""

    sample: str

    def problems(self, outcome):
        sample = outcome.report["samples"].get(self.sample)
        if sample is None:
            return ["no sample %s" % self.sample]
        return ["%s is %s" % pair for pair in sample["capabilities"].items() if pair[0] != "CapBnd" and int(pair[1], 16)]


@dataclasses.dataclass
class Back:
    """After the action at `at`, a beacon that the gateway did not know before is reported within ten seconds."""

    at: float
    subject: str
    within: float = BACK_WITHIN

    def problems(self, outcome):
        action = next((each for each in outcome.report["actions"] if each["at"] == self.at), None)
        if action is None:
            return ["nothing was done at %g" % self.at]
        times = [event.time for event in outcome.events if name(event.subject) == self.subject
                 and event.state == "satisfied" and event.time > action["began"]]
        if not times:
            return ["%s was not heard after %g" % (self.subject, self.at)]
        late = min(times) - action["ended"]
        return ["%s was heard %.1f s after the radio's return" % (self.subject, late)] if late > self.within else []


@dataclasses.dataclass
class Said:
    """The gateway told its operator these, in this order."""

    words: list

    def problems(self, outcome):
        place, lines = 0, (outcome.folder / "gateway.log").read_text().splitlines()
        for line in lines:
            if place < len(self.words) and self.words[place] in line:
                place += 1
        return ["it did not say “%s”" % each for each in self.words[place:]]


@dataclasses.dataclass
class Replayed:
    """What a replay of the recording said (in this file of the scenario's folder) is what was said live."""

    file: str
    # The recording knows of a fault only by silence; the gateway was told, by up to the time between two reports earlier.
    tolerance: float = 0.5

    def problems(self, outcome):
        lines = payloads(outcome.folder / self.file)
        ended = max((each.date for each in events_of(lines)), default=0)
        found = []
        live, replayed = group(outcome.events), group(events_of(lines))
        for subject in sorted(set(live) | set(replayed), key=str):
            mine = [each for each in live.get(subject, []) if each.date <= ended + self.tolerance]
            theirs = replayed.get(subject, [])
            if [each.state for each in mine] != [each.state for each in theirs]:
                found.append("%s: live %s, replayed %s" % (name(subject), " ".join(each.state for each in mine) or "nothing",
                                                          " ".join(each.state for each in theirs) or "nothing"))
            elif any(abs(one.date - other.date) > self.tolerance for one, other in zip(mine, theirs, strict=True)):
                found.append("%s: %s" % (name(subject), ", ".join("%s %+.2f s" % (one.state, other.date - one.date)
                                                                 for one, other in zip(mine, theirs, strict=True))))
        return found


@dataclasses.dataclass
class Scanned:
    """What `scan --json` wrote to this file names each of these (major, minor, conditions) near and often, at its end;
    or, with `--all` (None), each beacon's and every other advertiser's address."""

    file: str
    beacons: dict | None

    def problems(self, outcome):
        lines = payloads(outcome.folder / self.file)
        if not lines:
            return ["%s is empty" % self.file]
        last = [line for line in lines if line["time"] == lines[-1]["time"]]
        found = []
        if self.beacons is None:
            if not all(line.get("address") for line in last) or len(last) < 3:
                found.append("%s ends with %d advertisers" % (self.file, len(last)))
            return found
        for called, (major, minor, conditions) in self.beacons.items():
            line = next((line for line in last if (line["major"], line["minor"]) == (major, minor)), None)
            if line is None:
                found.append("%s does not show %s at its end" % (self.file, called))
            elif line["conditions"] != conditions or line["proximity"] == "unknown" or line["rate"] <= 0:
                found.append("%s shows %s as %s" % (self.file, called, line))
        return found
