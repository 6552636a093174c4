"""What is demanded of a scenario's outcome. Each check returns the problems that it found, in words."""
import dataclasses

from .hearing import Hearing
from .implied import Ambiguous, implied
from .outcome import group, payloads
from .sound import Sound

# How far an event may be from the moment that the controllers' logs say: the emulated machine is slow.
TOLERANCE = 0.25
# How late by way of bluetoothd and the bus, which take their time and carry none.
TOLERANCE_DBUS = 0.5
# Of several reports bluetoothd may make one.
THINNED = 1.0
# How many reports of one advertiser may be on their way while a scan begins or ends.
DOUBTFUL = 6
# How soon an adapter has to listen again once the radio is back.
BACK_WITHIN = 10.0


def name(subject):
    """A subject, for people: staff, staff 100/7."""
    identifier, beacon = subject
    return identifier if beacon is None else "%s %d/%d" % (identifier, beacon[1], beacon[2])


class Hard(str):
    """A problem that no standing still of the machine explains: no second try excuses it."""


class Lines:
    """What holds of all lines, whatever happened. Every scenario has this check, without naming it."""

    def problems(self, outcome):
        return [Hard(each) for each in Sound(outcome, outcome).problems()]


class Implied:
    """Each subject has had the events and visits that the reports imply, no more and no fewer, at the moments that they
    imply."""

    def problems(self, outcome):
        return self.compare(outcome, outcome, outcome.lives(), outcome.ending)

    def compare(self, outcome, telling, lives, ending):
        """What `telling` says against what the reports imply that came while its process lived."""
        scenario = outcome.scenario
        self._dbus = scenario.backend == "dbus"
        self._late = TOLERANCE_DBUS if self._dbus else TOLERANCE
        problems = self._against(Hearing(outcome, telling, lives, self._late), outcome, telling, lives, ending)
        # One of both must hold for all that was told.
        if problems and not self._against(Hearing(outcome, telling, lives, self._late, by_report=True), outcome, telling, lives,
                                          ending):
            return []
        return problems

    def _against(self, hearing, outcome, telling, lives, ending):
        """The same, for what could be heard."""
        scenario = outcome.scenario
        try:
            expected = implied(scenario.conditions, scenario.all_settings(), hearing.reports, hearing.ears, lives[0].begin,
                               ending, lives=lives, canary=scenario.canary_beacon())
        except Ambiguous as problem:
            return [*hearing.problems, "the script leaves it open: %s" % problem]
        self._ears, self._reports, found = hearing.ears, hearing.reports, list(hearing.problems)
        actual, visits = group(telling.events), group(telling.visits)
        for subject in sorted(set(expected) | set(actual) | set(visits), key=str):
            problems = self._compare(outcome, subject, expected.get(subject, []), actual.get(subject, []))
            # Where the events are wrong already, the visits are, too.
            found += problems or self._stays(outcome, subject, expected.get(subject, []), visits[subject])
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
            if not self._within(event.time, (due.earliest, due.latest)):
                return ["%s, expected from %.2f to %.2f" % (at, due.earliest - outcome.zero, due.latest - outcome.zero)]
            refinements = due.refinements if subject[1] is None else {subject[1]}
            if event.refinement not in refinements:
                return ["%s is refined by %s" % (at, event.refinement)]
            if (event.last_seen is None) != (due.seen is None) or due.seen and not self._within(
                    event.last_seen, due.seen, thinned=True):
                return ["%s was seen last at %s, expected %s" % (at, _moment(event.last_seen, outcome.zero), " to ".join(
                    _moment(each, outcome.zero) for each in due.seen or (None,)))]
            if event.adapter and outcome.controller_named(event.adapter, event.time) not in self._hearers(outcome, subject):
                return ["%s names %s, which never heard it" % (at, event.adapter)]
        return ["%s: no %s at %.2f" % (name(subject), due.state, due.earliest - outcome.zero)
                for due in expected[len(actual):] if not due.optional][:1]

    def _hearers(self, outcome, subject):
        """The controllers that reported a subject."""
        condition = next((each for each in outcome.scenario.conditions if each.identifier == subject[0]), None)
        return {report.adapter for report in self._reports if report.beacon and condition
                and (report.beacon == subject[1] if subject[1] else condition.matches(report.beacon))}

    def _stays(self, outcome, subject, expected, visits):
        """One subject's visits against what was expected of it."""
        due = [(each.visit, each.optional) for each in expected if each.visit]
        for number, visit in enumerate(visits):
            at = "%s: the visit that ended at %.2f" % (name(subject), visit.time - outcome.zero)
            if number >= len(due):
                return [at + " is not implied"]
            stay = due[number][0]
            if visit.arrival is None or not self._within(visit.arrival, stay.arrival):
                return ["%s began at %s, expected %.2f" % (at, _moment(visit.arrival, outcome.zero), stay.arrival[0] - outcome.zero)]
            if visit.departure is None or not self._within(visit.departure, stay.departure, thinned=True):
                return ["%s lasted to %s, expected %.2f" % (at, _moment(visit.departure, outcome.zero),
                                                            stay.departure[1] - outcome.zero)]
            # What came while a scan began or ended may have been heard or not, and bluetoothd makes one of several.
            open_to_doubt = sum(1 for ear in self._ears if stay.arrival[0] - 1 < ear.time < stay.departure[1] + 1) * DOUBTFUL
            least = 1 if self._dbus or outcome.scenario.lossy else max(1, stay.sightings[0] - open_to_doubt)
            if not least <= visit.sightings <= stay.sightings[1] + open_to_doubt:
                return ["%s counts %d sightings, expected %d to %d" % (at, visit.sightings, least, stay.sightings[1])]
        return ["%s: no visit that ended at %.2f" % (name(subject), stay.departure[1] - outcome.zero)
                for stay, optional in due[len(visits):] if not optional][:1]

    def _within(self, time, bounds, thinned=False):
        """Whether it is between the two, with what the way to the gateway takes; `thinned`: of several, one was told."""
        early = TOLERANCE + (THINNED if thinned and self._dbus else 0)
        return bounds[0] - early <= time <= bounds[1] + self._late


def judge(outcome):
    """All that is wrong with what a scenario left behind."""
    return [problem for check in [Lines(), *outcome.scenario.checks] for problem in check.problems(outcome)]


def _moment(time, zero):
    return "never" if time is None else "%.2f" % (time - zero)


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
    """The gateway and whatever else of the program was started ended with 0, and no controller was left scanning."""

    left_scanning: bool = False  # somebody else scans, so this can't be seen

    def problems(self, outcome):
        found = list(outcome.report["problems"])
        if outcome.report.get("status") != 0:
            found.append(Hard("the gateway ended with %s, out of %s" % (
                outcome.report.get("status"), (outcome.report.get("doing") or {}).get("wchan"))))
        for action in outcome.report["actions"]:
            status = action.get("answer", {}).get("status", 0)
            if status != 0:
                found.append(Hard("%s ended with %s" % (action.get("name", "the gateway"), status)))
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
class Entered:
    """The subject has one entry, within a second after `at`."""

    subject: str
    at: float

    def problems(self, outcome):
        times = [event.time - outcome.zero for event in outcome.events
                 if name(event.subject) == self.subject and event.state == "satisfied"]
        if len(times) == 1 and 0 <= times[0] - self.at <= 1:
            return []
        return ["%s: entries at %s, expected one at %.2f" % (
            self.subject, ", ".join("%.2f" % each for each in times) or "no time", self.at)]


@dataclasses.dataclass
class Said:
    """The gateway told its operator these, in this order, and none of what it must `never` tell."""

    words: list
    never: list = dataclasses.field(default_factory=list)

    def problems(self, outcome):
        place, lines = 0, (outcome.folder / "gateway.log").read_text().splitlines()
        for line in lines:
            if place < len(self.words) and self.words[place] in line:
                place += 1
        return ["it did not say “%s”" % each for each in self.words[place:]] + [
            "it said: " + line for each in self.never for line in lines if each in line]


@dataclasses.dataclass
class Kept:
    """Nothing is lost but what was damaged: of the lines that were there before (a copy in this folder of the scenario's),
    all that the damage left whole are there, as they were, and new numbers are greater than all that were ever given."""

    before: str
    lost: bool = False  # whether a whole file was taken away

    def problems(self, outcome):
        before = {}
        for path in sorted((outcome.folder / self.before).glob("events-*.jsonl")):
            before |= {line["sequence"]: line for line in payloads(path) if "sequence" in line}
        now = {}
        for line in outcome.lines:
            if "sequence" in line:
                if line["sequence"] in now:
                    return [Hard("number %d was given twice" % line["sequence"])]
                now[line["sequence"]] = line
        changed = [number for number, line in now.items() if number in before and before[number] != line]
        gone = [number for number in before if number not in now]
        new = [number for number in now if number not in before]
        found = ["number %d was given again" % changed[0]] if changed else []
        if gone and not self.lost and len(gone) > 2:
            found.append("%d lines are gone, from %d on" % (len(gone), gone[0]))
        if not new:
            found.append("nothing was written afterwards")
        elif min(new) <= max(before):
            found.append("number %d was given again" % min(new))
        return [Hard(each) for each in found]


@dataclasses.dataclass
class Replayed:
    """What a replay (to this file of the scenario's folder) of what `by` recorded says is what its reports imply, and in
    the same order what was said live."""

    file: str
    by: str

    def problems(self, outcome):
        telling, life = outcome.replayed(self.file), outcome.spawned(self.by)
        if not telling.events:
            return [Hard("%s has no events" % self.file)]
        found = [Hard("replayed, " + each) for each in Sound(outcome, telling, live=False).problems()]
        found += ["replayed, " + each for each in Implied().compare(outcome, telling, [life], life.end)]
        live, replayed = group(outcome.events), group(telling.events)
        for subject in sorted(set(live) | set(replayed), key=str):
            mine = [each.state for each in live.get(subject, []) if each.time < life.end - 0.5]
            theirs = [each.state for each in replayed.get(subject, []) if each.time < life.end - 0.5]
            if mine != theirs:
                found.append("%s: live %s, replayed %s" % (name(subject), " ".join(mine) or "nothing",
                                                          " ".join(theirs) or "nothing"))
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
