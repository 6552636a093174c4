"""The checks of a scenario's results. Each check returns the problems that it found, as text."""
import dataclasses

from .reception import PossibleReception
from .implied import Ambiguous, implied
from .outcome import group, payloads
from .consistency import Consistency

# Seconds by which a time can differ from the controllers' logs, because the emulated machine is slow. Over D-Bus, this
# is the limit only for times that are too early.
TOLERANCE = 0.25
# The same for times that are too late over D-Bus: bluetoothd and the bus cause a delay, and transmit no times.
TOLERANCE_DBUS = 0.5
# Seconds, in addition to TOLERANCE, by which a last sighting (`lastSeen`, departure) can be earlier over D-Bus,
# because bluetoothd may combine several reports into one.
THINNED = 1.0
# The number of reports of one advertiser that can be in transit while a scan starts or ends.
DOUBTFUL = 6
# Seconds within which an adapter must scan again after the radio returned.
RECOVERS_WITHIN = 10.0


def name(subject):
    """Returns a subject as text for people: `staff`, `staff 100/7`."""
    identifier, beacon = subject
    return identifier if beacon is None else "%s %d/%d" % (identifier, beacon[1], beacon[2])


class ConclusiveProblem(str):
    """A problem that a pause of the machine cannot explain, so it must not lead to a second attempt."""


class Lines:
    """The requirements for the lines of every scenario, whatever happened in it. Every scenario has this check without
    listing it."""

    def problems(self, outcome):
        return [ConclusiveProblem(each) for each in Consistency(outcome, outcome).problems()]


class Implied:
    """Requires that each subject has had the events and visits that the reports imply, and no others. Their times must
    be the implied ones."""

    def problems(self, outcome):
        return self.compare(outcome, outcome, outcome.lives(), outcome.ending)

    def compare(self, outcome, line_set, lives, ending):
        """Compares the lines of `line_set` with the reports that were sent while its processes ran, in the periods
        `lives`."""
        scenario = outcome.scenario
        self._dbus = scenario.backend == "dbus"
        self._late = TOLERANCE_DBUS if self._dbus else TOLERANCE
        # `PossibleReception` explains the two possibilities. All lines must agree with the same one.
        for by_report in (False, True):
            possible = PossibleReception(outcome, line_set, lives, self._late, by_report)
            found = self._against(possible, outcome, line_set, lives, ending)
            if not found:
                return []
            if not by_report:
                problems = found
        return problems

    def _against(self, possible, outcome, line_set, lives, ending):
        """Returns the problems of `line_set`, compared with the reports of `possible`."""
        scenario = outcome.scenario
        try:
            expected = implied(scenario.conditions, scenario.all_settings(), possible.reports, possible.reception, lives[0].begin,
                               ending, lives=lives, canary=scenario.canary_beacon())
        except Ambiguous as problem:
            return [*possible.problems, "the scenario is ambiguous: %s" % problem]
        self._reception, self._reports, found = possible.reception, possible.reports, list(possible.problems)
        actual, visits = group(line_set.events), group(line_set.visits)
        for subject in sorted(set(expected) | set(actual) | set(visits), key=str):
            problems = self._compare(outcome, subject, expected.get(subject, []), actual.get(subject, []))
            # If the events are wrong already, the visits are wrong too.
            found += problems or self._compare_visits(outcome, subject, expected.get(subject, []), visits[subject])
        return found

    def _compare(self, outcome, subject, expected, actual):
        """Returns the first problem of one subject's events, in a list that can be empty."""
        for number, event in enumerate(actual):
            at = "%s: %s at %.2f" % (name(subject), event.state, event.time - outcome.zero)
            if number >= len(expected):
                return [at + " is not expected"]
            due = expected[number]
            if event.state != due.state:
                return ["%s, expected %s at %.2f" % (at, due.state, due.earliest - outcome.zero)]
            if not self._within(event.time, (due.earliest, due.latest)):
                return ["%s, expected from %.2f to %.2f" % (at, due.earliest - outcome.zero, due.latest - outcome.zero)]
            refinements = due.refinements if subject[1] is None else {subject[1]}
            if event.refinement not in refinements:
                return ["%s has the refinement %s" % (at, event.refinement)]
            if (event.last_seen is None) != (due.seen is None) or due.seen and not self._within(
                    event.last_seen, due.seen, thinned=True):
                return ["%s has `lastSeen` %s, expected %s" % (at, _moment(event.last_seen, outcome.zero), " to ".join(
                    _moment(each, outcome.zero) for each in due.seen or (None,)))]
            if event.adapter and outcome.controller_named(event.adapter, event.time) not in self._receivers(outcome, subject):
                return ["%s names %s, which did not report it" % (at, event.adapter)]
        return ["%s: no %s event at %.2f" % (name(subject), due.state, due.earliest - outcome.zero)
                for due in expected[len(actual):] if not due.optional][:1]

    def _receivers(self, outcome, subject):
        """Returns the addresses of the controllers with a possible report that matches a subject."""
        condition = next((each for each in outcome.scenario.conditions if each.identifier == subject[0]), None)
        return {report.adapter for report in self._reports if report.beacon and condition
                and (report.beacon == subject[1] if subject[1] else condition.matches(report.beacon))}

    def _compare_visits(self, outcome, subject, expected, visits):
        """Returns the first problem of one subject's visits, in a list that can be empty."""
        due = [(each.visit, each.optional) for each in expected if each.visit]
        for number, visit in enumerate(visits):
            at = "%s: the visit that ended at %.2f" % (name(subject), visit.time - outcome.zero)
            if number >= len(due):
                return [at + " is not expected"]
            due_visit = due[number][0]
            if visit.arrival is None or not self._within(visit.arrival, due_visit.arrival):
                return ["%s has arrival %s, expected %.2f" % (at, _moment(visit.arrival, outcome.zero),
                                                              due_visit.arrival[0] - outcome.zero)]
            if visit.departure is None or not self._within(visit.departure, due_visit.departure, thinned=True):
                return ["%s has departure %s, expected %.2f" % (at, _moment(visit.departure, outcome.zero),
                                                                due_visit.departure[1] - outcome.zero)]
            # Reports that were sent while a scan started or ended may or may not be received. Over D-Bus, bluetoothd
            # may combine several reports into one.
            changes = [change for change in self._reception
                       if due_visit.arrival[0] - 1 < change.time < due_visit.departure[1] + 1]
            doubtful = len(changes) * DOUBTFUL
            least = 1 if self._dbus or outcome.scenario.lossy else max(1, due_visit.sightings[0] - doubtful)
            if not least <= visit.sightings <= due_visit.sightings[1] + doubtful:
                return ["%s counts %d sightings, expected %d to %d" % (at, visit.sightings, least, due_visit.sightings[1])]
        return ["%s: no visit with departure %.2f" % (name(subject), due_visit.departure[1] - outcome.zero)
                for due_visit, optional in due[len(visits):] if not optional][:1]

    def _within(self, time, bounds, thinned=False):
        """Whether `time` is within `bounds`, with the tolerance for the path to the gateway. `thinned`: over D-Bus it
        can be THINNED seconds earlier, because only one of several reports may have arrived."""
        early = TOLERANCE + (THINNED if thinned and self._dbus else 0)
        return bounds[0] - early <= time <= bounds[1] + self._late


def judge(outcome):
    """Returns all problems in the results of a scenario."""
    return [problem for check in [Lines(), *outcome.scenario.checks] for problem in check.problems(outcome)]


def _moment(time, zero):
    return "absent" if time is None else "%.2f" % (time - zero)


@dataclasses.dataclass
class States:
    """Requires that each listed subject has had exactly these states, in this order, and that no other subject has
    events. An empty string means no events. The states are written by hand, so that an error in `implied` cannot
    remain unnoticed. A subject is an identifier, or an identifier followed by "major/minor"."""

    states: dict
    others: bool = False  # whether other subjects may have events

    def problems(self, outcome):
        actual = {name(subject): " ".join(event.state for event in events)
                  for subject, events in group(outcome.events).items()}
        wrong = ["%s: %s; expected %s" % (key, actual.get(key, "no events") or "no events", value or "none")
                 for key, value in self.states.items() if actual.get(key, "") != value]
        if not self.others:
            wrong += ["%s: %s; expected no events" % pair for pair in actual.items() if pair[0] not in self.states]
        return wrong


@dataclasses.dataclass
class Timing:
    """Requires that the host requested only scans with this window in this interval, both in units of 625 µs. The flag
    accuracyLimited must be in all events if `window` is less than `interval`, otherwise in none."""

    interval: int
    window: int

    def problems(self, outcome):
        scans = [(each["interval"], each["window"]) for each in outcome.requests("scan parameters")]
        wrong = ["the host requested a scan window of %d in an interval of %d" % (window, interval)
                 for interval, window in scans if (interval, window) != (self.interval, self.window)]
        thinned = [("accuracyLimited" in line["diagnostics"]) for line in outcome.lines if line["type"] == "event"]
        if set(thinned) != {self.window < self.interval}:
            wrong.append("accuracyLimited on %d of %d events" % (sum(thinned), len(thinned)))
        return wrong[:3] if scans else ["no scan was requested"]


@dataclasses.dataclass
class Complete:
    """Requires for each beacon with an ended visit that its visits count at least `share` of the reports that the
    controllers sent for it, and no more than all of them. At least one visit of a beacon must have ended."""

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
        return wrong or ([] if counted else ["no visit of a beacon ended"])


@dataclasses.dataclass
class Clean:
    """Requires that the gateway, and each other command of the program for which the scenario waits, exited with 0, and
    that the guest reported no problem. No controller may be left scanning."""

    left_scanning: bool = False  # another client scans, so this cannot be checked

    def problems(self, outcome):
        found = list(outcome.report["problems"])
        if outcome.report.get("status") != 0:
            found.append(ConclusiveProblem("the gateway ended with %s; just before SIGTERM it was in the kernel function %s" % (
                outcome.report.get("status"), (outcome.report.get("kernel_state") or {}).get("wchan"))))
        for action in outcome.report["actions"]:
            status = action.get("answer", {}).get("status", 0)
            if status != 0:
                found.append(ConclusiveProblem("%s ended with %s" % (action.get("name", "the gateway"), status)))
        if not self.left_scanning and any(each["receives"] for each in outcome.report.get("controllers", [])):
            found.append("a controller was left scanning")
        return found


@dataclasses.dataclass
class Unprivileged:
    """Requires that no capability was left when the sample `sample` was taken (proc(5): CapInh, CapPrm, CapEff,
    CapAmb)."""

    sample: str

    def problems(self, outcome):
        sample = outcome.report["samples"].get(self.sample)
        if sample is None:
            return ["no sample %s" % self.sample]
        return ["%s is %s" % pair for pair in sample["capabilities"].items() if pair[0] != "CapBnd" and int(pair[1], 16)]


@dataclasses.dataclass
class Recovers:
    """Requires that `subject` enters within `within` seconds after the action at `at`. It should be a beacon that the
    gateway has not received before."""

    at: float
    subject: str
    within: float = RECOVERS_WITHIN

    def problems(self, outcome):
        action = next((each for each in outcome.report["actions"] if each["at"] == self.at), None)
        if action is None:
            return ["no action was executed at %g" % self.at]
        times = [event.time for event in outcome.events if name(event.subject) == self.subject
                 and event.state == "satisfied" and event.time > action["began"]]
        if not times:
            return ["%s did not enter after the action at %g" % (self.subject, self.at)]
        late = min(times) - action["ended"]
        return ["%s entered %.1f s after the radio returned" % (self.subject, late)] if late > self.within else []


@dataclasses.dataclass
class Entered:
    """Requires that the subject has exactly one entry, not before `at` and at most one second after it."""

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
class Logged:
    """Requires that the gateway's log has a line with each text of `words`, in this order, and no line with a text of
    `never`."""

    words: list
    never: list = dataclasses.field(default_factory=list)

    def problems(self, outcome):
        place, lines = 0, (outcome.folder / "gateway.log").read_text().splitlines()
        for line in lines:
            if place < len(self.words) and self.words[place] in line:
                place += 1
        return ["the log does not contain “%s”, or not in the required order" % each for each in self.words[place:]] + [
            "the log must not contain: " + line for each in self.never for line in lines if each in line]


@dataclasses.dataclass
class Preserved:
    """Requires that only damaged lines are lost, and that no sequence number is used twice. `before` is a folder of the
    scenario with a copy of the event files from before the damage. At most two lines of the copy may be missing, and
    the others must be unchanged. There must be new lines, and their numbers must be greater than all numbers in the
    copy."""

    before: str
    lost: bool = False  # whether a complete file was removed, so any number of lines may be missing

    def problems(self, outcome):
        before = {}
        for path in sorted((outcome.folder / self.before).glob("events-*.jsonl")):
            before |= {line["sequence"]: line for line in payloads(path) if "sequence" in line}
        now = {}
        for line in outcome.lines:
            if "sequence" in line:
                if line["sequence"] in now:
                    return [ConclusiveProblem("sequence number %d was used twice" % line["sequence"])]
                now[line["sequence"]] = line
        changed = [number for number, line in now.items() if number in before and before[number] != line]
        gone = [number for number in before if number not in now]
        new = [number for number in now if number not in before]
        found = ["sequence number %d was used again for another line" % changed[0]] if changed else []
        if gone and not self.lost and len(gone) > 2:
            found.append("%d lines are missing, from sequence number %d on" % (len(gone), gone[0]))
        if not new:
            found.append("no line was written after the damage")
        elif min(new) <= max(before):
            found.append("the new sequence number %d is not above all earlier ones" % min(new))
        return [ConclusiveProblem(each) for each in found]


@dataclasses.dataclass
class Replayed:
    """Requires that a replay has the lines that the recorded reports imply, and for each subject the same states as the
    gateway, in the same order. `file` is the output of the replay in the scenario's folder, and `by` the name of the
    command that recorded. The states are compared up to half a second before the end of the recording."""

    file: str
    by: str

    def problems(self, outcome):
        line_set, life = outcome.replayed(self.file), outcome.spawned(self.by)
        if not line_set.events:
            return [ConclusiveProblem("%s has no events" % self.file)]
        found = [ConclusiveProblem("replayed, " + each) for each in Consistency(outcome, line_set, live=False).problems()]
        found += ["replayed, " + each for each in Implied().compare(outcome, line_set, [life], life.end)]
        live, replayed = group(outcome.events), group(line_set.events)
        for subject in sorted(set(live) | set(replayed), key=str):
            mine = [each.state for each in live.get(subject, []) if each.time < life.end - 0.5]
            theirs = [each.state for each in replayed.get(subject, []) if each.time < life.end - 0.5]
            if mine != theirs:
                found.append("%s: live %s, replayed %s" % (name(subject), " ".join(mine) or "nothing",
                                                          " ".join(theirs) or "nothing"))
        return found


@dataclasses.dataclass
class Scanned:
    """Requires that the last snapshot in the output of `scan --json` shows each of these beacons. `beacons` is name →
    (major, minor, conditions). The conditions must be equal, the proximity must be known, and the rate must be above
    0. If `beacons` is None, the output must be from `scan --all`: with at least three advertisers, each with an
    address."""

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
                found.append("%s ends with %d advertisers; expected at least 3, each with an address" % (
                    self.file, len(last)))
            return found
        for called, (major, minor, conditions) in self.beacons.items():
            line = next((line for line in last if (line["major"], line["minor"]) == (major, minor)), None)
            if line is None:
                found.append("%s does not show %s at its end" % (self.file, called))
            elif line["conditions"] != conditions or line["proximity"] == "unknown" or line["rate"] <= 0:
                found.append("%s shows %s as %s" % (self.file, called, line))
        return found
